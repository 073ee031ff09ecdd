package pki

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/naming"
)

// Keys of the authority's Secret, which only the manager reads.
const (
	// KeyCurrentCertificate and KeyCurrentKey: the authority that signs.
	KeyCurrentCertificate = "ca.crt"
	KeyCurrentKey         = "ca.key"
	// KeyNextCertificate and KeyNextKey: the authority that is being made known before it signs.
	KeyNextCertificate = "next.crt"
	KeyNextKey         = "next.key"
	// KeyPreviousCertificate and KeyPreviousKey: the authority that signs no more and is still trusted.
	KeyPreviousCertificate = "previous.crt"
	KeyPreviousKey         = "previous.key"
	// KeyRotation: the last request for a new authority that was taken up.
	KeyRotation = "rotation"
)

// Keys of the agents' Secret, which is mounted into the pods.
const (
	// KeyBundle: the authorities to trust.
	KeyBundle = naming.KeyCACert
	// KeyLeafCertificate and KeyLeafKey: the certificate that all agents of a cluster share.
	KeyLeafCertificate = naming.KeyTLSCert
	KeyLeafKey         = naming.KeyTLSKey
	// KeyPublished: since when each authority is in the bundle. It is stored beside the bundle, in
	// the same write, so that a crash before that write cannot let time run that no agent saw.
	KeyPublished = "published"
)

// Material is the content of a cluster's two Secrets. A Secret that does not exist is nil.
type Material struct {
	Authority map[string][]byte
	Agents    map[string][]byte
}

// equal compares what this package wrote or would write; other keys are somebody else's.
func (m Material) equal(o Material) bool {
	return sameKeys(m.Authority, o.Authority, KeyCurrentCertificate, KeyCurrentKey, KeyNextCertificate, KeyNextKey,
		KeyPreviousCertificate, KeyPreviousKey, KeyRotation) &&
		sameKeys(m.Agents, o.Agents, KeyBundle, KeyLeafCertificate, KeyLeafKey, KeyPublished)
}

func sameKeys(a, b map[string][]byte, keys ...string) bool {
	for _, key := range keys {
		if !bytes.Equal(a[key], b[key]) {
			return false
		}
	}
	return true
}

// published says since when each authority, by fingerprint, is in the bundle.
type published map[string]time.Time

func decodePublished(encoded []byte) published {
	var p published
	if err := json.Unmarshal(encoded, &p); err != nil || p == nil {
		// Not knowing only means waiting again.
		return published{}
	}
	return p
}

func (p published) encode() ([]byte, error) {
	return json.Marshal(p)
}

// encodeBundle writes the authorities in an order that depends on nothing but themselves.
func encodeBundle(authorities []*parsed) []byte {
	sorted := slices.Clone(authorities)
	slices.SortFunc(sorted, func(a, b *parsed) int { return strings.Compare(a.fingerprint(), b.fingerprint()) })
	var encoded bytes.Buffer
	for _, a := range sorted {
		encoded.Write(a.pair.Certificate)
	}
	return encoded.Bytes()
}

func put(data map[string][]byte, key string, value []byte) {
	if len(value) > 0 {
		data[key] = value
	}
}
