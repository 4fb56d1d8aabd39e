# The verbs of this repository. `make help` lists them.
#
# A verb that cannot do its work fails and says why: a check that did not run never counts as passed.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-builtin-rules

# What make prove runs; empty for all.
PART =

# Which step of a release: files, check, reproduce, image.
STEP  = files
IMAGE = localhost/snowfence

# Where make install puts the C library, and which drivers it leaves out, as in TAGS=snowfence_no_etcd,snowfence_no_redis.
PREFIX = /usr/local
TAGS   =

.DEFAULT_GOAL := help
.PHONY: help test lint full prove bench gen lib install release

help: ## list the verbs
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 14

test: ## everything a change must pass, in short form: installs what it needs, tests of all modules, a race run
	@scripts/test.sh

lint: ## gofumpt, go vet, staticcheck, line lengths, go.mod files, workflows
	@scripts/lint.sh

full: ## the tests of all modules at their full length
	@scripts/test.sh full

prove: ## everything that takes long, for many hours: prints a row a part, writes bin/prove/ (PART: one of those in scripts/prove.sh)
	@scripts/prove.sh $(PART)

bench: ## measure side by side with other libraries and servers, and write docs/prove/benchmarks.md (PARTS: those in scripts/bench.sh)
	@scripts/bench.sh

gen: ## write again what is generated: Go code, the protocol, the dashboard's page, requirements in go.mod files
	@scripts/gen.sh

lib: ## build the C library into build/ (TAGS: drivers to leave out)
	@scripts/lib.sh build "$(TAGS)"
	@ls -l build

install: ## install the C library below PREFIX (/usr/local), or in a package's tree (DESTDIR=)
	@scripts/install.sh build "$(PREFIX)" "$(DESTDIR)"

release: ## build the files of a release into bin/release, the Python client into bin/python, the Java client into bin/java, and publish nothing (STEP: files, check, reproduce, image)
	@case "$(STEP)" in \
	files) rm -rf bin/release bin/python bin/java && scripts/files.sh bin/release && scripts/python.sh bin/python && scripts/java.sh bin/java ;; \
	check) scripts/prove.sh only release-check ;; \
	reproduce) scripts/prove.sh only reproduce ;; \
	image) scripts/setup.sh buildah && scripts/image.sh bin/release "$(IMAGE)" ;; \
	*) echo "make release: there is no step $(STEP): files, check, reproduce, image" >&2 && exit 2 ;; \
	esac
