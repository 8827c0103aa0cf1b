// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/synadia-io/orbit.go/ntf-client/api"
)

// tlsFiles is an instance's server side of generated TLS.
type tlsFiles struct {
	CAFile   string
	CertFile string
	KeyFile  string

	mutual         bool
	handshakeFirst bool
}

type pair struct {
	cert          *x509.Certificate
	key           *ecdsa.PrivateKey
	certPEM, kPEM []byte
}

// mintTLS makes an authority, a server certificate and, for mutual TLS, a
// client certificate, all good for a day.
func mintTLS(dir string, o *api.TLSOptions) (*tlsFiles, *api.TLSMaterial, error) {
	mode := o.Mode
	if mode == "" {
		mode = api.TLSModeMutual
	}
	if mode != api.TLSModeMutual && mode != api.TLSModeServer {
		return nil, nil, badRequest("unknown TLS mode %q", mode)
	}

	ca, err := issue(nil, &x509.Certificate{
		Subject:  pkix.Name{CommonName: "tester authority"},
		IsCA:     true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	})
	if err != nil {
		return nil, nil, err
	}
	leaf := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "tester server"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	sans := o.SANs
	if len(sans) == 0 {
		sans = []string{"localhost", "127.0.0.1", "::1"}
	}
	for _, san := range sans {
		if ip := net.ParseIP(san); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, san)
		}
	}
	srv, err := issue(ca, leaf)
	if err != nil {
		return nil, nil, err
	}

	files := &tlsFiles{
		CAFile: filepath.Join(dir, "ca.pem"), CertFile: filepath.Join(dir, "server-cert.pem"),
		KeyFile: filepath.Join(dir, "server-key.pem"),
		mutual:  mode == api.TLSModeMutual, handshakeFirst: o.HandshakeFirst,
	}
	for path, data := range map[string][]byte{
		files.CAFile: ca.certPEM, files.CertFile: srv.certPEM, files.KeyFile: srv.kPEM,
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return nil, nil, err
		}
	}

	material := &api.TLSMaterial{CAPEM: string(ca.certPEM)}
	if files.mutual {
		cl, err := issue(ca, &x509.Certificate{
			Subject:     pkix.Name{CommonName: "tester client"},
			KeyUsage:    x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		})
		if err != nil {
			return nil, nil, err
		}
		material.ClientCertPEM, material.ClientKeyPEM = string(cl.certPEM), string(cl.kPEM)
	}
	return files, material, nil
}

// issue signs a certificate with by's key, or with its own where by is nil.
func issue(by *pair, c *x509.Certificate) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if c.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, err
	}
	c.NotBefore = time.Now().Add(-time.Hour)
	c.NotAfter = time.Now().Add(24 * time.Hour)
	c.BasicConstraintsValid = true

	parent, signer := c, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &pair{
		cert: cert, key: key,
		certPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		kPEM:    pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	}, nil
}
