package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/holdfast-dev/holdfast/hack/bench/idle"
)

// Addresses of the manager's servers.
const (
	probeAddress   = "127.0.0.1:8081"
	metricsAddress = "127.0.0.1:8443"
)

// stopPatience is how long the manager may take to end.
const stopPatience = 15 * time.Second

// manager is the operator's process.
type manager struct {
	command *exec.Cmd
	log     string
	token   string
	http    *http.Client
	ended   chan error
}

func startManager(ctx context.Context, o idle.Options, s *apiServer, dir string) (*manager, error) {
	token, err := s.token(ctx)
	if err != nil {
		return nil, err
	}
	if err := allowMetrics(ctx, s); err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := writeKubeconfig(kubeconfig, s, token); err != nil {
		return nil, err
	}
	m := &manager{log: filepath.Join(dir, "manager.log"), token: token, ended: make(chan error, 1)}
	log, err := os.Create(m.log)
	if err != nil {
		return nil, fmt.Errorf("make the manager's log: %w", err)
	}
	m.command = exec.Command(o.Manager, append([]string{
		"--leader-elect", "--namespace=" + managerNamespace, "--pod-name=manager-0", "--agent-image=example.com/holdfast:bench",
		"--watches=" + o.Watches,
		"--health-probe-bind-address=" + probeAddress, "--metrics-bind-address=" + metricsAddress,
	}, o.ManagerArgs...)...)
	// Without a home of its own the manager would look into that of whoever runs the measurement.
	m.command.Env = append([]string{"KUBECONFIG=" + kubeconfig, "HOME=" + dir}, o.ManagerEnv...)
	m.command.Stdout, m.command.Stderr = log, log
	m.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	// Its certificate is made for nobody in particular, and the address is this namespace's own.
	m.http = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
	}}
	if err := m.command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the manager: %w", err), log.Close())
	}
	go func() { m.ended <- errors.Join(m.command.Wait(), log.Close()) }()
	return m, nil
}

func writeKubeconfig(file string, s *apiServer, token string) error {
	const name = "bench"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + hostOf(s), CertificateAuthorityData: s.config.CAData}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return fmt.Errorf("write the manager's kubeconfig: %w", err)
	}
	return nil
}

func hostOf(s *apiServer) string {
	a := s.environment.ControlPlane.GetAPIServer().SecureServing.ListenAddr
	return net.JoinHostPort(a.Address, a.Port)
}

// allowMetrics lets the manager's account read the manager's metrics.
func allowMetrics(ctx context.Context, s *apiServer) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-metrics-reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: managerNamespace, Name: managerAccount}},
	}
	if err := s.client.Create(ctx, binding); err != nil {
		return fmt.Errorf("allow metrics to be read: %w", err)
	}
	return nil
}

// ready waits until the manager leads and watches.
func (m *manager) ready(ctx context.Context) error {
	return until(ctx, time.Minute, func() (string, error) {
		select {
		case err := <-m.ended:
			return "", fmt.Errorf("the manager ended: %w", err)
		default:
		}
		families, err := m.metrics(ctx)
		if err != nil {
			return err.Error(), nil
		}
		if sum(families["leader_election_master_status"]) == 0 || families["controller_runtime_max_concurrent_reconciles"] == nil {
			return "it does not lead yet", nil
		}
		return "", nil
	})
}

// stop ends the manager as a kubelet would, or by force.
func (m *manager) stop() error {
	if err := m.command.Process.Signal(syscall.SIGTERM); err != nil {
		return nil // It has ended already, which was reported where it mattered.
	}
	select {
	case err := <-m.ended:
		if err != nil {
			return fmt.Errorf("stop the manager: %w", err)
		}
		return nil
	case <-time.After(stopPatience):
		return errors.Join(errors.New("the manager did not end in time"), m.command.Process.Kill())
	}
}

// metrics as the manager serves them, with authentication.
func (m *manager) metrics(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+metricsAddress+"/metrics", nil)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+m.token)
	answer, err := m.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read metrics: %s", answer.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("parse metrics: %w", err)
	}
	return families, nil
}

// sum of all series of a counter or gauge.
func sum(f *dto.MetricFamily) float64 {
	total := 0.0
	for _, m := range f.GetMetric() {
		total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return total
}

// memory of the process, as the kernel counts it.
func (m *manager) memory() (idle.Memory, error) {
	const mebibyte = 1 << 20
	proc, err := procfs.NewProc(m.command.Process.Pid)
	if err != nil {
		return idle.Memory{}, fmt.Errorf("find the manager: %w", err)
	}
	status, err := proc.NewStatus()
	if err != nil {
		return idle.Memory{}, fmt.Errorf("read the manager's memory: %w", err)
	}
	return idle.Memory{
		Resident:  float64(status.VmRSS) / mebibyte,
		Anonymous: float64(status.RssAnon) / mebibyte,
		File:      float64(status.RssFile+status.RssShmem) / mebibyte,
		Peak:      float64(status.VmHWM) / mebibyte,
	}, nil
}

// cpu time that the process has used, in seconds.
func (m *manager) cpu() (float64, error) {
	proc, err := procfs.NewProc(m.command.Process.Pid)
	if err != nil {
		return 0, fmt.Errorf("find the manager: %w", err)
	}
	stat, err := proc.Stat()
	if err != nil {
		return 0, fmt.Errorf("read the manager's CPU time: %w", err)
	}
	return stat.CPUTime(), nil
}
