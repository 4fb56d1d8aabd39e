#!/usr/bin/env bash
# image.sh FILES NAME: builds the image NAME from the archives for Linux in the folder FILES, and prints what is in it for each architecture:
# the checksum of the files, and the settings. It needs buildah, but no registry: the last stage of deploy/docker/Dockerfile begins FROM scratch, and a
# folder takes the place of the stage before. The format is Docker's, because OCI's has no health check.
set -euo pipefail
cd "$(dirname "$0")/.."

files=${1:?usage: image.sh FILES NAME} name=${2:?usage: image.sh FILES NAME}
umask 022
seconds=$(git log -1 --format=%ct)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed -n '/^FROM scratch/,$p' deploy/docker/Dockerfile | sed 's/^COPY --from=build /COPY /' >"$work/Dockerfile"

buildah manifest rm "$name" >/dev/null 2>&1 || true # from an earlier run
buildah manifest create "$name" >/dev/null
for archive in "$files"/snowfence_*_linux_*.tar.gz; do
	arch=${archive##*_} && arch=${arch%.tar.gz}
	root=$work/$arch
	mkdir -p "$root/out" "$root/etc/ssl/certs"
	tar -xzf "$archive" -C "$root/out" --strip-components=1 --wildcards '*/snowfence'
	mkdir -m 0700 -p "$root/out/own/state" "$root/out/own/state/snowfence" "$root/out/own/tmp"
	cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
	chmod 0755 "$root/out/snowfence"
	buildah build --quiet --platform "linux/$arch" --format docker --timestamp "$seconds" --iidfile "$work/id" -f "$work/Dockerfile" "$root" >/dev/null
	buildah manifest add "$name" "$(cat "$work/id")" >/dev/null
	buildah inspect --type image --format '{{.OCIv1.Architecture}} {{.OCIv1.RootFS.DiffIDs}} {{.Docker.Config.Healthcheck.Test}} {{.OCIv1.Config}}{{"\n"}}' "$(cat "$work/id")"
done
