// Package suites names the packages whose own tests are run against Highwater. See ../../README.md.
package suites

import _ "github.com/twmb/franz-go/pkg/kgo"
