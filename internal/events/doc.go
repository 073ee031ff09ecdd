// Package events is the catalogue of the Kubernetes events that Holdfast emits: each is a value
// with its type, reason, action and message.
//
// Events tell a person what happened, on change only, never once per pass. The package must never
// carry a secret or a timestamp in a message, and knows no client: it emits through a small
// interface that the manager's event recorder satisfies.
//
// Start with catalogue.go.
package events
