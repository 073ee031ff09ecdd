package addons

import (
	"bytes"
	"context"
	_ "embed" // the manifests
	"fmt"
	"os/exec"
	"strings"
	"text/template"
)

//go:embed manifests.yaml
var manifests string

// Values fill the manifests in.
type Values struct {
	Provisioner  string
	CoreDNSImage string
	DNSService   string
}

// Namespace and DaemonSet name of CoreDNS.
const (
	Namespace = "kube-system"
	DNSName   = "coredns"
)

// Render fills the manifests in.
func Render(values Values) (string, error) {
	parsed, err := template.New("manifests").Option("missingkey=error").Parse(manifests)
	if err != nil {
		return "", fmt.Errorf("parse the manifests: %w", err)
	}
	var rendered strings.Builder
	if err := parsed.Execute(&rendered, values); err != nil {
		return "", fmt.Errorf("render the manifests: %w", err)
	}
	return rendered.String(), nil
}

// Apply installs the manifests in the cluster of the kubeconfig.
func Apply(ctx context.Context, kubectl, kubeconfig string, values Values) error {
	content, err := Render(values)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, kubectl, "--kubeconfig="+kubeconfig,
		"apply", "--server-side", "--field-manager=devcluster", "--force-conflicts", "-f", "-")
	cmd.Stdin = strings.NewReader(content)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("apply the manifests: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return nil
}
