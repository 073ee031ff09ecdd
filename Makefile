# Run `make help` for the list of targets.

VERSION ?= 0.1.0

# The image of the operator. Without IMG, the image that `make images` loaded last is deployed, by digest.
IMG ?= holdfast/manager:dev
CONTAINER_TOOL ?= docker

# Variables of the bundle, named as operator-sdk names them.
IMAGE_TAG_BASE ?= holdfast/holdfast
BUNDLE_IMG ?= $(IMAGE_TAG_BASE)-bundle:v$(VERSION)
CATALOG_IMG ?= $(IMAGE_TAG_BASE)-catalog:v$(VERSION)
CHANNELS ?= stable
DEFAULT_CHANNEL ?= stable
BUNDLE_GEN_FLAGS ?= -q --overwrite --version $(VERSION) --channels $(CHANNELS) --default-channel $(DEFAULT_CHANNEL)
OPERATOR_SDK ?= operator-sdk
OPM ?= opm

NODES ?= 3
FOCUS ?=
MINUTES ?= 10
SEED ?= $(shell date +%s)
SUITE ?= failover

SHELL := /usr/bin/env bash
.SHELLFLAGS := -o pipefail -ec
.DEFAULT_GOAL := help
.NOTPARALLEL:

LOCALBIN := $(CURDIR)/bin
CONTROLLER_GEN := $(LOCALBIN)/controller-gen
KUSTOMIZE := $(LOCALBIN)/kustomize
GOLANGCI_LINT := $(LOCALBIN)/golangci-lint
DEVCLUSTER := $(LOCALBIN)/devcluster
STEP := hack/step.sh
SUBMAKE = $(MAKE) --no-print-directory

# A KUBECONFIG of your own wins over the local cluster: nothing is then brought up or taken down.
LOCAL_KUBECONFIG := $(CURDIR)/.devcluster/kubeconfig
KUBECONFIG ?= $(LOCAL_KUBECONFIG)
ifeq ($(KUBECONFIG),$(LOCAL_KUBECONFIG))
CLUSTER := local
else
CLUSTER := given
endif
export KUBECONFIG CLUSTER DEVCLUSTER

STATIC := env CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)"
UNIT_PACKAGES = $$(go list ./... | grep -vE '/tests/(envtest|e2e|chaos|bench|upgrade|scorecard)(/|$$)')

##@ General

.PHONY: help
help: ## Print this help.
	@awk 'BEGIN {FS = ":.*##"; printf "Usage: make \033[36m<target>\033[0m\n"} \
	  /^[a-zA-Z0-9_-]+:.*?##/ {printf "  \033[36m%-17s\033[0m %s\n", $$1, $$2} \
	  /^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)}' $(MAKEFILE_LIST)

##@ Development

.PHONY: manifests
manifests: $(CONTROLLER_GEN) ## Generate the CRDs and the manager's ClusterRole.
	@$(CONTROLLER_GEN) rbac:roleName=manager-role crd paths="./api/..." paths="./controllers/..." output:crd:artifacts:config=config/crd/bases

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Generate the DeepCopy methods of the API types.
	@$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt paths="./api/..."

.PHONY: docs
docs: manifests ## Generate docs/reference from the CRDs.
	@go run ./hack/apidoc -crds config/crd/bases -out docs/reference

.PHONY: fmt
fmt: ## Format the Go code.
	@gofmt -w $$(git ls-files -co --exclude-standard '*.go')

.PHONY: fmt-check
fmt-check: ## Fail on Go code that is not formatted.
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	  [[ -z $$unformatted ]] || { printf 'not formatted, run make fmt: %s\n' $$unformatted; exit 1; }

.PHONY: vet
vet: ## Run go vet.
	@go vet ./...

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run golangci-lint.
	@$(GOLANGCI_LINT) run ./...

.PHONY: lint-fix
lint-fix: $(GOLANGCI_LINT) ## Run golangci-lint and apply its fixes.
	@$(GOLANGCI_LINT) run --fix ./...

.PHONY: lint-config
lint-config: $(GOLANGCI_LINT) ## Check the configuration of golangci-lint.
	@$(GOLANGCI_LINT) config verify

.PHONY: imports
imports: ## Check the import graph, the paths in the docs and the text rules.
	@go test -count=1 ./tests/imports # Go's cache does not see which files of the tree the test reads.

.PHONY: devcluster-check
devcluster-check: $(GOLANGCI_LINT) ## Vet and lint hack/devcluster and run its unit tests.
	@cd hack/devcluster && go vet ./... && $(GOLANGCI_LINT) run -c ../../.golangci.yml ./... && go test ./...

.PHONY: verify-generated
verify-generated: $(CONTROLLER_GEN) ## Fail if a generated file is stale or not committed, and name it.
	@hack/verify-generated.sh

.PHONY: verify
verify: ## Everything that a change must pass before review: generated files, format, vet, lint, import graph, clean tree.
	@$(STEP) verify $(SUBMAKE) verify-steps

# Generated files come first, since a stale one makes the later steps speak of the wrong code.
.PHONY: verify-steps
verify-steps:
	@$(STEP) generated-files $(SUBMAKE) verify-generated
	@$(STEP) format $(SUBMAKE) fmt-check
	@$(STEP) vet $(SUBMAKE) vet
	@$(STEP) lint $(SUBMAKE) lint
	@$(STEP) imports-and-text $(SUBMAKE) imports
	@$(STEP) devcluster-check $(SUBMAKE) devcluster-check
	@$(STEP) clean-tree hack/verify-clean.sh

.PHONY: verify-fast
verify-fast: ## The part of verify that takes seconds: format, vet, import graph.
	@$(STEP) format $(SUBMAKE) fmt-check
	@$(STEP) vet $(SUBMAKE) vet
	@$(STEP) imports-and-text $(SUBMAKE) imports

##@ Tests

.PHONY: test
test: ## Every test: unit, API server, end to end on the local cluster.
	@$(STEP) test $(SUBMAKE) unit envtest e2e

.PHONY: unit
unit: build-devcluster ## Unit tests, with the race detector.
	@$(STEP) unit hack/unit.sh $(UNIT_PACKAGES)

.PHONY: envtest
envtest: build-devcluster $(KUSTOMIZE) ## Tests against an API server and etcd without nodes.
	@$(STEP) envtest hack/envtest.sh

.PHONY: e2e
e2e: ## End-to-end tests on the local cluster; FOCUS=regexp picks some.
	@$(STEP) e2e hack/with-cluster.sh $(SUBMAKE) images deploy e2e-suite

.PHONY: e2e-suite
e2e-suite: # The suite alone, on a cluster that runs this tree's operator.
	@go test ./tests/e2e/... -run TestE2E -count=1 -v -timeout 60m -args -ginkgo.focus "$(FOCUS)"

.PHONY: chaos
chaos: ## Random faults under load: MINUTES=n SEED=s.
	@$(STEP) chaos hack/with-cluster.sh $(SUBMAKE) images deploy chaos-suite SEED=$(SEED)

.PHONY: chaos-suite
chaos-suite: # The run alone, on a cluster that runs this tree's operator.
	@go test ./tests/chaos -run TestChaos -count=1 -v -timeout $$(($(MINUTES) + 20))m -args -minutes $(MINUTES) -seed $(SEED)

.PHONY: bench
bench: ## Measure: SUITE=name; prints a table and writes JSON under .bench/.
	@$(STEP) "bench $(SUITE)" hack/with-cluster.sh $(SUBMAKE) images deploy bench-suite

.PHONY: bench-suite
bench-suite: # The measurement alone, on a cluster that runs this tree's operator.
	@go run ./hack/bench -suite $(SUITE)

##@ Build

.PHONY: build
build: ## Build the static binaries bin/manager and bin/agent.
	@mkdir -p bin
	@$(STEP) "build manager" $(STATIC) -o bin/manager ./cmd/manager
	@$(STEP) "build agent" $(STATIC) -o bin/agent ./cmd/agent

.PHONY: build-devcluster
build-devcluster: ## Build bin/devcluster.
	@mkdir -p bin
	@$(STEP) "build devcluster" go -C hack/devcluster build -o $(DEVCLUSTER) .

.PHONY: run
run: manifests generate install ## Run the manager from your machine against the cluster.
	@go run ./cmd/manager --namespace=holdfast-system --watches=watches.yaml --agent-image=$(IMG)

.PHONY: docker-build
docker-build: ## Build the operator's image with $(CONTAINER_TOOL).
	@$(STEP) docker-build $(CONTAINER_TOOL) build --build-arg VERSION=$(VERSION) -t $(IMG) .

.PHONY: docker-push
docker-push: ## Push the operator's image.
	@$(STEP) docker-push $(CONTAINER_TOOL) push $(IMG)

.PHONY: build-installer
build-installer: manifests $(KUSTOMIZE) ## Write dist/install.yaml with the CRDs and the operator.
	@mkdir -p dist
	@$(KUSTOMIZE) build config/default | sed 's|holdfast/manager:dev|$(IMG)|g' > dist/install.yaml

##@ Local cluster

.PHONY: cluster-up
cluster-up: ## Bring up a Kubernetes cluster on this machine: NODES=n.
ifeq ($(CLUSTER),local)
cluster-up: build-devcluster
	@$(STEP) "cluster-up, $(NODES) nodes" $(DEVCLUSTER) up --nodes $(NODES)
else
	@echo "KUBECONFIG=$(KUBECONFIG) is used as it is: no local cluster is brought up"
endif

.PHONY: cluster-down
cluster-down: build-devcluster ## Take the local cluster down.
	@$(STEP) cluster-down $(DEVCLUSTER) down

.PHONY: images
images: build build-devcluster ## Build the operator and load its image into the local cluster.
	@$(STEP) "load image" hack/load-image.sh "$(IMG)" "$(origin IMG)"

.PHONY: demo
demo: build-devcluster ## A cluster, the operator, a RedisCluster, and a failover before your eyes.
	@$(STEP) "build demo" go build -o bin/demo ./hack/demo
	@bin/demo

##@ Deployment

.PHONY: install
install: manifests $(KUSTOMIZE) ## Install the CRDs.
	@$(KUSTOMIZE) build config/crd | hack/kubectl.sh apply --server-side --force-conflicts -f -

.PHONY: uninstall
uninstall: manifests $(KUSTOMIZE) ## Remove the CRDs, and with them every RedisCluster.
	@$(KUSTOMIZE) build config/crd | hack/kubectl.sh delete --ignore-not-found --timeout=2m -f -

.PHONY: deploy
deploy: manifests $(KUSTOMIZE) ## Deploy the operator and wait until it is ready.
	@$(STEP) deploy hack/deploy.sh "$(IMG)" "$(origin IMG)"

.PHONY: undeploy
undeploy: $(KUSTOMIZE) ## Remove the operator and the CRDs.
	@$(STEP) undeploy hack/undeploy.sh

##@ OLM

.PHONY: operator-sdk
operator-sdk: # The bundle is generated by operator-sdk 1.42, which is not built here.
	@command -v $(OPERATOR_SDK) >/dev/null || { echo "operator-sdk is not on the PATH: install 1.42, or name it with OPERATOR_SDK=..."; exit 1; }

.PHONY: bundle
bundle: manifests $(KUSTOMIZE) operator-sdk ## Generate the OLM bundle and validate it.
	@$(OPERATOR_SDK) generate kustomize manifests -q --apis-dir api
	@$(KUSTOMIZE) build config/manifests | sed 's|holdfast/manager:dev|$(IMG)|g' | $(OPERATOR_SDK) generate bundle $(BUNDLE_GEN_FLAGS)
	@$(OPERATOR_SDK) bundle validate ./bundle

.PHONY: bundle-build
bundle-build: ## Build the bundle's image.
	@$(CONTAINER_TOOL) build -f bundle.Dockerfile -t $(BUNDLE_IMG) .

.PHONY: bundle-push
bundle-push: ## Push the bundle's image.
	@$(CONTAINER_TOOL) push $(BUNDLE_IMG)

.PHONY: catalog-build
catalog-build: ## Build a catalog image that holds the bundle.
	@command -v $(OPM) >/dev/null || { echo "opm is not on the PATH: install it, or name it with OPM=..."; exit 1; }
	@$(OPM) index add --container-tool $(CONTAINER_TOOL) --mode semver --tag $(CATALOG_IMG) --bundles $(BUNDLE_IMG)

.PHONY: catalog-push
catalog-push: ## Push the catalog's image.
	@$(CONTAINER_TOOL) push $(CATALOG_IMG)

##@ Tools

# Built once per hack/tools/go.mod.
.PHONY: tools
tools: $(CONTROLLER_GEN) $(KUSTOMIZE) $(GOLANGCI_LINT) ## Build the pinned tools into bin/.

TOOLS_MODULE := hack/tools/go.mod hack/tools/go.sum
TOOL_BUILD = mkdir -p $(LOCALBIN) && cd hack/tools && $(CURDIR)/$(STEP) "build $(@F)" go build -ldflags "-s -w" -o $@

$(CONTROLLER_GEN): $(TOOLS_MODULE)
	@$(TOOL_BUILD) sigs.k8s.io/controller-tools/cmd/controller-gen && touch $@

$(KUSTOMIZE): $(TOOLS_MODULE)
	@$(TOOL_BUILD) sigs.k8s.io/kustomize/kustomize/v5 && touch $@

$(GOLANGCI_LINT): $(TOOLS_MODULE)
	@$(TOOL_BUILD) github.com/golangci/golangci-lint/v2/cmd/golangci-lint && touch $@
