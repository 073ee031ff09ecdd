// Package credentials decides which passwords the members of a cluster accept.
//
// The application's password lives in a Secret that a person may change at any time. Clients learn
// of a change at different moments, so that both passwords are accepted until every member knows
// the new one and a grace period has passed. Plan is a pure function from what is stored and seen to what
// shall be stored and accepted.
//
// The package must never let a Secret that is missing or unusable take a working password away, and
// must never make a new password where one exists. No password appears in an error or a message.
//
// Start with Plan; stored.go is what survives between two plans.
package credentials
