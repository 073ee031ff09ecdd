package credentials

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/holdfast-dev/holdfast/internal/naming"
)

// passwordBytes of randomness: 192 bits, which is 32 characters.
const passwordBytes = 24

// Reasons why a Secret has no usable password.
var (
	errNoSecret  = errors.New("does not exist")
	errNoKey     = errors.New(`has no key "` + naming.KeyPassword + `"`)
	errEmpty     = errors.New(`has an empty password under the key "` + naming.KeyPassword + `"`)
	errCharacter = errors.New(`has a control character in the password under the key "` + naming.KeyPassword + `"`)
)

// Generate makes a password from random: URL-safe characters, fit for any client.
func Generate(random io.Reader) (string, error) {
	b := make([]byte, passwordBytes)
	if _, err := io.ReadFull(random, b); err != nil {
		return "", fmt.Errorf("read randomness for a password: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// Hash is the digest under which the engine and the internal Secret know a password.
func Hash(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

// readPassword takes the password out of a Secret's data; nil data means that there is no Secret.
// One newline at the end is taken off: editors and echo leave it there, and no client sends it.
func readPassword(data map[string][]byte) (string, error) {
	if data == nil {
		return "", errNoSecret
	}
	value, ok := data[naming.KeyPassword]
	if !ok {
		return "", errNoKey
	}
	value = bytes.TrimSuffix(value, []byte("\n"))
	if err := checkPassword(value); err != nil {
		return "", err
	}
	return string(value), nil
}

func checkPassword(value []byte) error {
	if len(value) == 0 {
		return errEmpty
	}
	if bytes.ContainsFunc(value, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return errCharacter
	}
	return nil
}
