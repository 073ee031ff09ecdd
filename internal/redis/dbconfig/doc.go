// Package dbconfig decides the configuration of the Redis and Valkey servers of a RedisCluster: the
// user's parameters, the operator's defaults, and which of them a running server can take over.
//
// The package is pure. It must never let a user's parameter through that the operator owns, even
// though the API refuses it first, and never a value that could become a second directive of the
// configuration file.
//
// Start with Render; parameters.go is the table of what is known about single parameters.
package dbconfig
