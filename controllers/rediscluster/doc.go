// Package rediscluster reconciles RedisCluster objects: it wires what is observed, decided, built and
// carried out elsewhere into one pass, and reports.
//
// It holds no decision of its own, no Redis command and no object literal. Start with passSteps in
// steps.go, the ordered list of what a pass does; setup.go says what wakes it.
package rediscluster
