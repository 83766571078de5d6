#!/bin/sh
# Apptainer on Debian 12, which has no package of it: the one of Debian's unstable suite, unpacked.
# Installing it properly would replace the system's libc, so its programs get that suite's loader
# and libc in a folder of their own. As root; does nothing where apptainer is installed already.
set -eu
command -v apptainer >/dev/null && exit 0

export DEBIAN_FRONTEND=noninteractive
apt-get -q install -y --no-install-recommends \
    patchelf squashfs-tools squashfuse fuse-overlayfs uidmap libseccomp2 libsqlite3-0 binutils

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/debs"
: >"$work/status"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/*$')
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keyring] $mirror unstable main" >"$work/unstable.list"
cat >"$work/apt.conf" <<CONF
Dir::Etc::sourcelist "$work/unstable.list";
Dir::Etc::sourceparts "$work/none";
Dir::State::lists "$work/lists";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
APT::Sandbox::User "root";
CONF
(
    cd "$work/debs"
    APT_CONFIG="$work/apt.conf" apt-get -q update
    APT_CONFIG="$work/apt.conf" apt-get -q download apptainer libc6
)

libc=/opt/apptainer-libc
mkdir -p "$libc"
dpkg -x "$work"/debs/libc6_*.deb "$work/libc"
cp -a "$work"/libc/usr/lib/x86_64-linux-gnu/. "$libc/"
dpkg -x "$work"/debs/apptainer_*.deb "$work/apptainer"

system=/usr/lib/x86_64-linux-gnu
find "$work/apptainer/usr" -type f -perm -u+x | while read -r program; do
    # Static programs, scripts and other formats have no interpreter and stay as they are.
    patchelf --print-interpreter "$program" >/dev/null 2>&1 || continue
    patchelf --force-rpath --set-rpath "$libc:$system" \
        --set-interpreter "$libc/ld-linux-x86-64.so.2" "$program"
done
# Without CAP_SYS_RESOURCE, as in many a CI machine, root cannot be given all capabilities.
conf="$work/apptainer/etc/apptainer/apptainer.conf"
if ! capsh --has-p=cap_sys_resource 2>/dev/null; then
    sed -i 's/^root default capabilities = .*/root default capabilities = no/' "$conf"
fi
cp -a "$work"/apptainer/etc/. /etc/
cp -a "$work"/apptainer/usr/. /usr/
mkdir -p /var/lib/apptainer/mnt/session
apptainer --version
