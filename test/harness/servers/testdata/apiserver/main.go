// Apiserver is the API server of Kubernetes, for the tests that need a real
// one. It is a module of its own, outside of go.work, because to build it
// takes ten minutes of processor time.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() { os.Exit(cli.Run(app.NewAPIServerCommand())) }
