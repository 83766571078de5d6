#!/bin/sh
# Runs Assay from a bundle, on a machine without a network: with a Python that the bundle has wheels
# for, or in the bundle's own image where there is none. Arguments go to `./assay reproduce`.
set -euf

# Programs are looked for in absolute directories only: not in the one that somebody stands in.
found=
IFS=:
for entry in $PATH; do
    case $entry in /*) found=$found:$entry ;; esac
done
unset IFS
PATH=${found#:}

here=$(cd "$(dirname "$0")" && pwd)
say() { echo "bundle: $*" >&2; }

say "checking the files of this bundle"
(cd "$here" && sha256sum --quiet --check SHA256SUMS) >&2 || {
    say "a file of this bundle is not what it was when it was packed: unpack it again"
    exit 1
}
. "$here/bundle.env"

export ASSAY_WHEELHOUSE="$here/wheels" PIP_NO_INDEX=1
[ -z "$BUNDLE_COMMIT" ] || export ASSAY_COMMIT="$BUNDLE_COMMIT"

# Of the other sources the bundle holds no kernels.
case " $* " in
    *" --source"* | *" --claim"* | *" --project"*) ;;
    *) # shellcheck disable=SC2086 # words of their own
        set -- ${BUNDLE_SOURCES:-} "$@" ;;
esac

for version in $BUNDLE_PYTHONS; do
    python=$(command -v "python$version" || true)
    if [ -z "$python" ] && command -v python3 > /dev/null; then
        found=$(python3 -I -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        [ "$found" != "$version" ] || python=$(command -v python3)
    fi
    if [ -n "$python" ]; then
        say "running with $python"
        ASSAY_PYTHON="$python" exec "$python" -I "$here/source/assay" reproduce \
            --target "$BUNDLE_TARGET" --prebuilt "$here/prebuilt" "$@"
    fi
done

if [ -z "$BUNDLE_IMAGE" ]; then
    say "this machine has none of Python $BUNDLE_PYTHONS, and the bundle holds no image"
    exit 3
fi
for engine in docker podman; do
    command -v "$engine" > /dev/null && "$engine" info > /dev/null 2>&1 || continue
    mapping=""
    if [ "$engine" = podman ] && [ "$(id -u)" != 0 ]; then mapping="--userns=keep-id"; fi
    say "running in the bundle's image, in $engine; figures are not measured there"
    "$engine" image inspect "$BUNDLE_IMAGE" > /dev/null 2>&1 ||
        "$engine" load --quiet --input "$here/prebuilt/images/$BUNDLE_TARGET/toolchain/image.tar" >&2
    mkdir -p "$here/home" # where the key that signs the report stays
    # shellcheck disable=SC2086 # no mapping is no word
    exec "$engine" run --rm $mapping --network none --user "$(id -u):$(id -g)" \
        --security-opt no-new-privileges --cap-drop ALL \
        --volume "$here:$here" --workdir "$here/source" --env HOME="$here/home" \
        --env ASSAY_WHEELHOUSE --env PIP_NO_INDEX --env ASSAY_COMMIT="$BUNDLE_COMMIT" \
        "$BUNDLE_IMAGE" python3 -I "$here/source/assay" reproduce --runtime host \
        --target "$BUNDLE_TARGET" --prebuilt "$here/prebuilt" "$@"
done
say "this machine has none of Python $BUNDLE_PYTHONS and no Docker or Podman that answers"
exit 3
