// A server and a client of HTTP of Go's own library, which know nothing of PRP.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
)

const size, times = 300000, 50

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(address string) {
	listener, err := net.Listen("tcp", address)
	must(err)
	fmt.Println("listening")
	must(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		must(err)
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		must(err)
		w.Header().Set("Peer", host)
		w.Write(body)
	})))
}

func call(url string) {
	var all sync.WaitGroup
	peers := make([]string, times)
	for at := range peers {
		all.Add(1)
		go func(at int) {
			defer all.Done()
			reader, writer := io.Pipe()
			go func() {
				_, err := writer.Write(make([]byte, size))
				must(err)
				writer.Close()
			}()
			response, err := http.Post(url, "text/plain", reader)
			must(err)
			body, err := io.ReadAll(response.Body)
			must(err)
			if len(body) != size {
				must(fmt.Errorf("%d bytes", len(body)))
			}
			peers[at] = response.Header.Get("Peer")
		}(at)
	}
	all.Wait()
	fmt.Printf("%s %d bytes, %d times\n", peers[times-1], size, times)
}

func main() {
	if os.Args[1] == "serve" {
		serve(os.Args[2])
	}
	call(os.Args[2])
}
