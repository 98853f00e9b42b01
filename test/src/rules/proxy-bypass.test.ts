import t from 'tap'
import { bypassKind, bypassProblem } from '../../../src/rules/proxy-bypass.ts'

t.test('each entry is a host or bare domain, a leading-dot suffix, an address or a CIDR range', async (test) => {
  for (const [entry, kind] of [
    ['localhost', 'domain'],
    ['example.test', 'domain'],
    ['.example.test', 'suffix'],
    ['192.0.2.1', 'address'],
    ['2001:db8::1', 'address'],
    ['10.0.0.0/8', 'network'],
    ['10.1.2.3/8', 'network'],
    ['2001:db8::/32', 'network'],
    ['0.0.0.0/0', 'network'],
  ] as const) {
    test.equal(bypassKind(entry), kind, entry)
  }
})

t.test('a port or a wildcard is reported as such', async (test) => {
  for (const [entry, says] of [
    ['example.test:8080', /port/],
    ['192.0.2.1:80', /port/],
    ['[::1]:80', /port/],
    ['*', /wildcard/],
    ['*.example.test', /wildcard/],
    ['10.0.*.1', /wildcard/],
    ['10.0.0.0/33', /CIDR/],
    ['2001:db8::/129', /CIDR/],
    ['10.0.0.0/', /CIDR/],
    ['[::1]', /not a host/],
    ['fe80::1%eth0', /not a host/],
    ['http://a.test', /not a host/],
    ['a.test/24', /not a host/],
    ['..a.test', /not a host/],
    ["a';system('id')#", /not a host/],
    ['a.test,b.test', /not a host/],
    ['a\nb', /not a host/],
    ['', /not a host/],
  ] as const) {
    test.equal(bypassKind(entry), undefined, JSON.stringify(entry))
    test.match(bypassProblem(entry), says, JSON.stringify(entry))
  }
})
