package watches

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The bounds are wide: they catch a slip of the hand or of the unit, not a matter of taste.
const (
	maxConcurrency = 256
	minPeriod      = time.Second
	maxPeriod      = 24 * time.Hour
)

// rawEntry is an entry as it stands in the file. Its yaml names are the fields that the file may have.
type rawEntry struct {
	Group                   string       `yaml:"group"`
	Version                 string       `yaml:"version"`
	Kind                    string       `yaml:"kind"`
	MaxConcurrentReconciles int          `yaml:"maxConcurrentReconciles"`
	ReconcilePeriod         string       `yaml:"reconcilePeriod"`
	Selector                *rawSelector `yaml:"selector"`
}

// rawSelector is a metav1.LabelSelector, which itself has names for JSON only.
type rawSelector struct {
	MatchLabels      map[string]string `yaml:"matchLabels"`
	MatchExpressions []rawExpression   `yaml:"matchExpressions"`
}

type rawExpression struct {
	Key      string   `yaml:"key"`
	Operator string   `yaml:"operator"`
	Values   []string `yaml:"values"`
}

// Parse reads the content of a watches file; name is what its errors call the file.
func Parse(name string, data []byte) (File, error) {
	list, err := entryNodes(data)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", name, err)
	}
	var (
		file     File
		problems []error
		seen     = map[schema.GroupVersionKind]int{}
	)
	for _, node := range list {
		entry, err := parseEntry(node)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: entry at line %d: %w", name, node.Line, err))
			continue
		}
		if line, ok := seen[entry.GVK]; ok {
			problems = append(problems, fmt.Errorf("%s: entry at line %d: %s is already listed at line %d: keep one of the two",
				name, node.Line, entry.GVK.Kind, line))
			continue
		}
		seen[entry.GVK] = node.Line
		file.Entries = append(file.Entries, entry)
	}
	if err := errors.Join(problems...); err != nil {
		return File{}, err
	}
	return file, nil
}

// entryNodes returns the entries of the one list in the file. They are kept as nodes, because only nodes know their lines.
func entryNodes(data []byte) ([]*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty: list at least one kind")
		}
		return nil, fmt.Errorf("parse YAML: %w", err)
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one YAML document: keep one list")
	}
	list := document.Content[0]
	if list.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("line %d: a list of kinds is wanted: begin each entry with \"- group:\"", list.Line)
	}
	if len(list.Content) == 0 {
		return nil, errors.New("the list is empty: list at least one kind")
	}
	return list.Content, nil
}

func parseEntry(node *yaml.Node) (Entry, error) {
	var raw rawEntry
	if err := decodeStrict(node, &raw); err != nil {
		return Entry{}, err
	}
	gvk := schema.GroupVersionKind{Group: raw.Group, Version: raw.Version, Kind: raw.Kind}
	if gvk.Group == "" || gvk.Version == "" || gvk.Kind == "" {
		return Entry{}, errors.New("group, version and kind must all be set, for example db.holdfast.dev, v1 and RedisCluster")
	}
	period, periodErr := parsePeriod(raw.ReconcilePeriod)
	selector, selectorErr := parseSelector(raw.Selector)
	if err := errors.Join(checkConcurrency(raw.MaxConcurrentReconciles), periodErr, selectorErr); err != nil {
		return Entry{}, fmt.Errorf("kind %s: %w", gvk.Kind, err)
	}
	return Entry{
		GVK:                     gvk,
		MaxConcurrentReconciles: raw.MaxConcurrentReconciles,
		ReconcilePeriod:         period,
		Selector:                selector,
	}, nil
}

// decodeStrict refuses fields that the target does not have. yaml's own KnownFields works on a whole
// stream only and names Go types in its errors.
func decodeStrict(node *yaml.Node, raw *rawEntry) error {
	if err := checkFields(node, "group", "version", "kind", "maxConcurrentReconciles", "reconcilePeriod", "selector"); err != nil {
		return err
	}
	if selector := child(node, "selector"); selector != nil {
		if err := checkFields(selector, "matchLabels", "matchExpressions"); err != nil {
			return fmt.Errorf("selector: %w", err)
		}
		for _, expression := range elements(child(selector, "matchExpressions")) {
			if err := checkFields(expression, "key", "operator", "values"); err != nil {
				return fmt.Errorf("selector.matchExpressions: %w", err)
			}
		}
	}
	if err := node.Decode(raw); err != nil {
		var mistyped *yaml.TypeError
		if errors.As(err, &mistyped) {
			return errors.New(strings.Join(mistyped.Errors, "; "))
		}
		return err
	}
	return nil
}

func checkFields(node *yaml.Node, known ...string) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: fields are wanted: %s", node.Line, strings.Join(known, ", "))
	}
	seen := map[string]bool{}
	for i := 0; i < len(node.Content); i += 2 {
		key := node.Content[i]
		if !slices.Contains(known, key.Value) {
			return fmt.Errorf("line %d: unknown field %q: the fields are %s", key.Line, key.Value, strings.Join(known, ", "))
		}
		if seen[key.Value] {
			return fmt.Errorf("line %d: field %q is set twice: keep one", key.Line, key.Value)
		}
		seen[key.Value] = true
	}
	return nil
}

func child(node *yaml.Node, name string) *yaml.Node {
	for i := 0; i < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i+1]
		}
	}
	return nil
}

func elements(node *yaml.Node) []*yaml.Node {
	if node == nil || node.Kind != yaml.SequenceNode {
		return nil
	}
	return node.Content
}

func checkConcurrency(n int) error {
	if n < 1 || n > maxConcurrency {
		return fmt.Errorf("maxConcurrentReconciles is %d: set it to a number from 1 to %d", n, maxConcurrency)
	}
	return nil
}

func parsePeriod(text string) (time.Duration, error) {
	period, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("reconcilePeriod %q is no duration: write it with its unit, for example 60s", text)
	}
	if period < minPeriod || period > maxPeriod {
		return 0, fmt.Errorf("reconcilePeriod is %s: set it between %s and %s", text, minPeriod, maxPeriod)
	}
	return period, nil
}

func parseSelector(raw *rawSelector) (labels.Selector, error) {
	if raw == nil {
		return labels.Everything(), nil
	}
	wanted := metav1.LabelSelector{MatchLabels: raw.MatchLabels}
	for _, e := range raw.MatchExpressions {
		wanted.MatchExpressions = append(wanted.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: e.Key, Operator: metav1.LabelSelectorOperator(e.Operator), Values: e.Values,
		})
	}
	selector, err := metav1.LabelSelectorAsSelector(&wanted)
	if err != nil {
		return nil, fmt.Errorf("selector: %w", err)
	}
	return selector, nil
}
