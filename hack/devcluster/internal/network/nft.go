package network

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// probePort is the port of the discard service: nobody listens there.
const probePort = 9

// PutInForce makes the cuts and nothing else be in force, and checks by sending
// a packet where it can. touched are the places of earlier cuts, whose rules
// have to go. It tells the moment when everything was in force.
func PutInForce(cuts []Cut, touched []Place, find Finder) (time.Time, error) {
	wanted := ends(cuts)
	keep := map[string]bool{}
	for _, e := range wanted {
		keep[e.place.Name] = true
	}
	if err := atOnce(wanted, func(e end) error { return e.apply(find) }); err != nil {
		return time.Time{}, err
	}
	for _, place := range touched {
		if keep[place.Name] {
			continue
		}
		if err := clearPlace(place, find); err != nil {
			return time.Time{}, err
		}
	}
	moment := time.Now()
	return moment, atOnce(wanted, func(e end) error { return e.verify(find) })
}

// atOnce does the same at every end at the same time: each takes a few starts
// of nft, and a fault should not come into force bit by bit.
func atOnce(ends []end, work func(end) error) error {
	problems := make([]error, len(ends))
	var group sync.WaitGroup
	for i, e := range ends {
		group.Go(func() { problems[i] = work(e) })
	}
	group.Wait()
	return errors.Join(problems...)
}

// HealAll removes every rule of a cut, found by looking and not from a record.
func HealAll(find Finder) error {
	names, err := Namespaces()
	if err != nil {
		return err
	}
	var paths []string
	for _, name := range names {
		paths = append(paths, NamespacePath(name))
		i, err := NodeIndex(strings.TrimPrefix(name, Prefix))
		if err != nil {
			continue
		}
		pid, running := find(i)
		if !running {
			continue
		}
		pods, err := podNamespaces(pid)
		if err != nil {
			return err
		}
		paths = append(paths, pods...)
	}
	var problems []error
	for _, path := range paths {
		if err := change(path, clearRuleset); err != nil {
			problems = append(problems, fmt.Errorf("heal %s: %w", path, err))
		}
	}
	return errors.Join(problems...)
}

// clearRuleset works whether the table is there or not.
const clearRuleset = "table ip " + tableName + " {}\ndelete table ip " + tableName + "\n"

// Alive says whether the place still is what it was when it was looked up.
func Alive(place Place, find Finder) bool {
	_, err := place.namespace(find)
	return err == nil || place.Kind == KindAddress || place.Kind == KindAll
}

func clearPlace(place Place, find Finder) error {
	path, err := place.namespace(find)
	if errors.Is(err, errNoNamespace) {
		// The rules went with the pod or its node.
		return nil
	}
	if err != nil {
		return err
	}
	if err := change(path, clearRuleset); err != nil {
		return fmt.Errorf("heal %s: %w", place.Name, err)
	}
	return nil
}

func (e end) apply(find Finder) error {
	path, err := e.place.namespace(find)
	if err != nil {
		return fmt.Errorf("cut %s: %w", e.place.Name, err)
	}
	if err := change(path, e.ruleset()); err != nil {
		return fmt.Errorf("cut %s: %w", e.place.Name, err)
	}
	return nil
}

// verify sends one packet into each outgoing rule and looks whether it was
// counted. Incoming rules without a counterpart are looked up only.
func (e end) verify(find Finder) error {
	path, err := e.place.namespace(find)
	if err != nil {
		return fmt.Errorf("check the cut of %s: %w", e.place.Name, err)
	}
	for _, d := range e.drops {
		if d.hook == outgoing {
			// Sending may fail because the packet is dropped, which is the point.
			_ = In(path, func() error { return sendProbe(d.peer) })
		}
	}
	counters, err := readCounters(path)
	if err != nil {
		return fmt.Errorf("check the cut of %s: %w", e.place.Name, err)
	}
	for _, d := range e.drops {
		packets, found := counters[d.counter()]
		if !found || (d.hook == outgoing && packets == 0) {
			return fmt.Errorf("the cut of %s from %s (%s) is not in force: a packet got through", e.place.Name, d.peer.Name, d.hook)
		}
	}
	return nil
}

func sendProbe(peer Place) error {
	target := HostAddr
	if len(peer.Addrs) > 0 {
		target = peer.Addrs[0].Addr()
	}
	conn, err := net.Dial("udp4", net.JoinHostPort(target.String(), strconv.Itoa(probePort)))
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer conn.Close()
	_, err = conn.Write([]byte("cut?"))
	return err
}

// readCounters lists the packets that each rule of ours has dropped.
func readCounters(path string) (map[string]uint64, error) {
	output, err := runIn(path, exec.Command("nft", "--json", "list", "table", "ip", tableName))
	if err != nil {
		return nil, err
	}
	return parseCounters(output)
}

func parseCounters(output []byte) (map[string]uint64, error) {
	var answer struct {
		Nftables []struct {
			Counter *struct {
				Name    string `json:"name"`
				Packets uint64 `json:"packets"`
			} `json:"counter"`
		} `json:"nftables"`
	}
	if err := json.Unmarshal(output, &answer); err != nil {
		return nil, fmt.Errorf("decode the counters: %w", err)
	}
	counters := map[string]uint64{}
	for _, item := range answer.Nftables {
		if item.Counter != nil {
			counters[item.Counter.Name] = item.Counter.Packets
		}
	}
	return counters, nil
}

// change runs commands of nftables in a network namespace, all or none.
func change(namespace, commands string) error {
	cmd := exec.Command("nft", "--file", "-")
	cmd.Stdin = strings.NewReader(commands)
	_, err := runIn(namespace, cmd)
	return err
}

// runIn runs a command in a network namespace and returns what it prints.
func runIn(namespace string, cmd *exec.Cmd) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := In(namespace, cmd.Start); err != nil {
		return nil, fmt.Errorf("start nft: %w", err)
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("nft: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return stdout.Bytes(), nil
}
