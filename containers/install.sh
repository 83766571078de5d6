#!/bin/sh
# Makes an image of a new Debian: mmdebstrap runs this inside of it, with /tmp/inputs beside it.
# Usage: install.sh LOCK PIP_WHEEL WHEELS [SITE]. No network is used: pip checks each hash again.
set -eu
umask 022
cd /tmp/inputs
lock=$1 pip=$2 wheels=$3 site=${4:-}
place=--break-system-packages
[ -z "$site" ] || place="--target $site"
# shellcheck disable=SC2086 # two words
python3 "$pip/pip" install --no-index --find-links "$wheels" --require-hashes --no-deps \
    --no-build-isolation --only-binary :all: --no-compile --no-cache-dir \
    --disable-pip-version-check --root-user-action ignore --progress-bar off $place -r "$lock"
if [ -n "$site" ]; then
    ln -s lib "$site/nvidia/cu13/lib64"
    ln -s libcudart.so.13 "$site/nvidia/cu13/lib/libcudart.so"
fi
python3 list_packages.py $site > /tmp/packages.json

# What belongs to one machine, one moment or one mirror has no place in an image.
rm -rf /tmp/inputs /root/.cache /root/.local
rm -f /etc/apt/sources.list /etc/apt/sources.list.d/0000main.* /etc/apt/apt.conf.d/99mmdebstrap
find / -xdev -name __pycache__ -prune -exec rm -rf {} +
find /var/cache /var/log -type f -delete
for name in hostname hosts resolv.conf; do
    rm -f "/etc/$name"
    : > "/etc/$name"
done
ln -sf /proc/mounts /etc/mtab
