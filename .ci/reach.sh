# Sourced: sets the array "reach" to the variables by which this machine reaches Debian, PyPI and
# npm. All else stays behind, such as a pip setting that offers packages nobody else has.
reach=()
for name in {http,https,no,HTTP,HTTPS,NO}_{proxy,PROXY} npm_config_registry ASSAY_DEBIAN_MIRROR \
    PIP_{INDEX_URL,CERT,PROXY,TRUSTED_HOST,DEFAULT_TIMEOUT} SSL_CERT_{FILE,DIR} \
    {REQUESTS_CA,CURL_CA}_BUNDLE NODE_EXTRA_CA_CERTS; do
    if [ -n "${!name:-}" ]; then reach+=("$name=${!name}"); fi
done
for setting in index-url cert proxy trusted-host; do
    name=PIP_${setting^^}
    name=${name//-/_}
    if [ -z "${!name:-}" ] && value=$(python3 -m pip config get "global.$setting" 2> /dev/null); then
        reach+=("$name=$value")
    fi
done
