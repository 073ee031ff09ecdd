# The operator's image: the manager, and the agent that an init container copies into each database pod.
# Both are static, so the image holds nothing else: no shell, no package to patch.
FROM --platform=${BUILDPLATFORM:-linux/amd64} golang:1.26 AS build
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=0.1.0
WORKDIR /src
ENV CGO_ENABLED=0 GOOS=${TARGETOS:-linux} GOARCH=${TARGETARCH}

# The modules change less often than the code, so they are a layer of their own.
COPY go.mod go.sum ./
RUN go mod download

COPY api/ api/
COPY cmd/ cmd/
COPY controllers/ controllers/
COPY internal/ internal/
RUN mkdir -p /out/tmp && chmod 1777 /out/tmp \
 && go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/manager ./cmd/manager \
 && go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/agent ./cmd/agent

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/ /
COPY watches.yaml /watches.yaml
USER 65532:65532
ENTRYPOINT ["/manager"]
