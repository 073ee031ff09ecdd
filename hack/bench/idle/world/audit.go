package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/hack/bench/idle"
)

// auditPolicy notes every finished request of the manager's account, and nobody else's.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  users: ["system:serviceaccount:` + managerNamespace + `:` + managerAccount + `"]
- level: None
`

// request is the part of an audit event that is counted.
type request struct {
	Stage     string `json:"stage"`
	Verb      string `json:"verb"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		APIGroup    string `json:"apiGroup"`
	} `json:"objectRef"`
	Received metav1.MicroTime `json:"requestReceivedTimestamp"`
}

// requests that the manager sent within a span of time.
func (s *apiServer) requests(from, to time.Time) (idle.Requests, error) {
	counted := idle.Requests{Which: map[string]int{}}
	content, err := os.ReadFile(s.audit)
	if err != nil {
		return counted, fmt.Errorf("read the audit log: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, 1<<20)
	seen := 0
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return counted, fmt.Errorf("read a line of the audit log: %w", err)
		}
		seen++
		if r.Received.After(from) && r.Received.Time.Before(to) {
			r.count(&counted)
		}
	}
	if err := lines.Err(); err != nil {
		return counted, fmt.Errorf("read the audit log: %w", err)
	}
	if seen == 0 {
		return counted, fmt.Errorf("the audit log is empty: nothing of the manager would be counted")
	}
	return counted, nil
}

func (r request) count(into *idle.Requests) {
	switch r.Verb {
	case "get", "list":
		into.Reads++
		return
	case "watch":
		// Noted at its beginning and at its end.
		if r.Stage == "ResponseStarted" {
			into.Reads++
		}
		return
	}
	switch r.ObjectRef.Resource {
	case "leases":
		into.Leases++
	case "events":
		into.Events++
	case "tokenreviews", "subjectaccessreviews":
		// The simulation reads the manager's metrics, and the manager asks whether it may.
	default:
		into.Writes++
		what := r.Verb + " " + r.ObjectRef.Resource
		if r.ObjectRef.Subresource != "" {
			what += "/" + r.ObjectRef.Subresource
		}
		into.Which[what]++
	}
}
