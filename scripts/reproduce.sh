#!/usr/bin/env bash
# reproduce.sh OUT [PLATFORM...]: builds the files of a release twice, in clones in different folders, the second time with an empty build cache, another
# umask, time zone and language. Compares both byte for byte, keeps one in OUT, and looks into the archives, packages, lists of parts and images.
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:?usage: reproduce.sh OUT [PLATFORM...]}
shift
fail() { echo "reproduce.sh: $*" >&2 && exit 1; }
[ -z "$(git status --porcelain)" ] || fail "the folder has changes, and a clone has only what is committed: commit them first"

work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
NFPM=$(GOWORK=off go tool -n -modfile=deploy/packaging/go.mod nfpm)
jv=$(GOWORK=off go tool -n -modfile=deploy/packaging/go.mod jv)
export NFPM

echo "== once"
git clone -q . "$work/one"
rm -rf "$out"
"$work/one/scripts/files.sh" "$(realpath -m "$out")" "$@"

echo "== again, in another folder"
(
	umask 077
	export TZ=Asia/Kathmandu LC_ALL=C GOCACHE=$work/cache
	git clone -q . "$work/another/folder"
	"$work/another/folder/scripts/files.sh" "$work/files" "$@" >/dev/null
)
diff -r "$out" "$work/files" || fail "two builds of one commit differ"
echo "two builds are equal: $(wc -l <"$out/SHA256SUMS") files"

echo "== programs"
version=$(go run ./test/release/tags . | sed -n 1p)
number=${version#v}
says() { # says ARCH COMMAND...: the program must name the version and its platform
	local arch=$1 said
	shift
	said=$("$@" version)
	[[ $said == "snowfence $version go"*" linux/$arch" ]] || fail "$* says: $said"
	echo "$said"
}
declare -A machine=([amd64]=x86_64 [arm64]=aarch64)
for platform in "$@"; do
	folder=$work/snowfence_${number}_${platform/\//_} program=snowfence
	if [[ $platform == windows/* ]]; then
		program=snowfence.exe
		python3 -m zipfile -e "$out/${folder##*/}.zip" "$work"
	else
		tar -xzf "$out/${folder##*/}.tar.gz" -C "$work"
	fi
	[ "$(find "$folder/man" -name '*.1' | wc -l)" -ge 20 ] || fail "$platform lacks man pages"
	bash -n "$folder/completions/snowfence.bash"
	[[ $(go version -m "$folder/$program") == *"/cmd	$version"* ]] || fail "the program for $platform does not name $version"
done
for platform in "$@"; do
	[[ $platform == linux/* ]] || continue
	arch=${platform#*/}
	folder=$work/snowfence_${number}_linux_$arch
	run=(qemu-${machine[$arch]})
	[ "${machine[$arch]}" != "$(uname -m)" ] || run=()
	says $arch "${run[@]}" "$folder/snowfence"

	deb=$out/snowfence_${number}_$arch.deb rpm=$out/snowfence-$number-1.${machine[$arch]}.rpm
	dpkg-deb --extract "$deb" "$work/deb-$arch"
	rpm --checksig --nosignature "$rpm" >/dev/null
	mkdir "$work/rpm-$arch"
	rpm --root "$work/rpm-$arch" --install --nodeps --noscripts --nosignature --ignorearch "$rpm" # a folder without programs
	for tree in "$work/deb-$arch" "$work/rpm-$arch"; do
		cmp "$tree/usr/bin/snowfence" "$folder/snowfence"
		for unit in snowfence snowfence-agent; do cmp "$tree/usr/lib/systemd/system/$unit.service" "deploy/systemd/$unit.service"; done
		[ "$(find "$tree/usr/share/man/man1" -name '*.1.gz' | wc -l)" -ge 20 ] || fail "$tree lacks man pages"
		for file in copyright NOTICE THIRD-PARTY-NOTICES.txt; do [ -s "$tree/usr/share/doc/snowfence/$file" ] || fail "$tree lacks $file"; done
	done
	[ "$(dpkg-deb --field "$deb" Version Architecture | sort | paste -sd' ')" = "Architecture: $arch Version: $number" ] || fail "$deb says otherwise"
	[ "$(rpm -qp --queryformat '%{VERSION} %{ARCH}' --nosignature "$rpm")" = "$number ${machine[$arch]}" ] || fail "$rpm says otherwise"
done

echo "== formula"
[ $# -lt 6 ] || ruby -c "$out/snowfence.rb"

echo "== lists of parts, against the schema of CycloneDX"
GOWORK=off go mod download -modfile=deploy/packaging/go.mod github.com/CycloneDX/cyclonedx-go # no program needs it
schema=$(GOWORK=off go list -m -modfile=deploy/packaging/go.mod -f '{{.Dir}}' github.com/CycloneDX/cyclonedx-go)/schema
mkdir "$work/schema"
cp "$schema"/{bom-1.6,spdx}.schema.json "$work/schema/"
cp "$schema/jsf-0.82.schemax.json" "$work/schema/jsf-0.82.schema.json" # its name is wrong there
"$jv" --map "http://cyclonedx.org/schema=$work/schema" --assert-format "$work/schema/bom-1.6.schema.json" "$out"/*.cdx.json
echo '{"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 0}' >"$work/bad.json"
! "$jv" --map "http://cyclonedx.org/schema=$work/schema" "$work/schema/bom-1.6.schema.json" "$work/bad.json" >/dev/null || fail "the schema refuses nothing"

echo "== images, in a storage of their own"
cat >"$work/storage.conf" <<CONF
[storage]
driver = "vfs"
graphroot = "$work/images"
runroot = "$work/running"
CONF
export CONTAINERS_STORAGE_CONF=$work/storage.conf
image=localhost/snowfence:$number
scripts/image.sh "$out" "$image" | tee "$work/once"
scripts/image.sh "$work/files" "$image" | diff "$work/once" - || fail "two images of one commit differ"
container=$(buildah from --pull-never --arch amd64 "$image")
says amd64 chroot --userspec=65532:65532 "$(buildah mount "$container")" /snowfence
echo "make prove PART=reproduce: passed"
