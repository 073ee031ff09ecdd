package pki

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

const (
	clusterName = "holdfast"
	contextName = "holdfast"
)

// Kubeconfig writes a kubeconfig with the certificate of that name inside, so
// that the file can be copied anywhere.
func (a *Authority) Kubeconfig(name, server, path string) error {
	authority, err := os.ReadFile(a.CertFile("ca"))
	if err != nil {
		return fmt.Errorf("read the authority: %w", err)
	}
	cert, err := os.ReadFile(a.CertFile(name))
	if err != nil {
		return fmt.Errorf("read certificate %s: %w", name, err)
	}
	key, err := os.ReadFile(a.KeyFile(name))
	if err != nil {
		return fmt.Errorf("read key %s: %w", name, err)
	}
	config := api.NewConfig()
	config.Clusters[clusterName] = &api.Cluster{Server: server, CertificateAuthorityData: authority}
	config.AuthInfos[name] = &api.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	config.Contexts[contextName] = &api.Context{Cluster: clusterName, AuthInfo: name, Namespace: "default"}
	config.CurrentContext = contextName
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write kubeconfig of %s: %w", name, err)
	}
	return nil
}
