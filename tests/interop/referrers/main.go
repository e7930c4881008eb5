// SPDX-License-Identifier: Apache-2.0
// A registry with the referrers API of OCI distribution-spec 1.1, in memory, on a loopback port
// that it prints: go-containerregistry's own, with the API switched on.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	server := &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler: registry.New(
			registry.WithReferrersSupport(true),
			registry.Logger(log.New(io.Discard, "", 0)),
		),
	}
	go func() { // ends with whoever started it
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	log.Fatal(server.Serve(listener))
}
