import t from 'tap'
import { sharedAppliance } from '../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

const REAL = { ripId: 'r' }
const RULE = { do: { type: 'redirect', to: 'ftp://x' } }
/** A body, and all of its wrong fields: by its schema or by a rule. */
const REFUSED: readonly (readonly [path: string, body: object, fields: readonly string[]])[] = [
  [
    '/layer7proxy/frontends',
    { name: 1, mode: 'tcp', ip: '127.0.0.1', ports: '80', hsts: true, clientVerify: 'required', clientCa: '' },
    ['name', 'hsts', 'clientVerify', 'clientVerify'],
  ],
  // A required field with a wrong value is reported as wrong, not as missing.
  [
    '/layer7proxy/frontends',
    { mode: 'http', ip: 'x', ports: '80', certificates: [3], http3: true, clientVerify: 'required', rules: [RULE] },
    ['certificates.0', 'ip', 'name', 'rules.0.do.to'],
  ],
  ['/layer7proxy/frontends', { name: 'a', mode: 'udp', ip: '127.0.0.1', ports: '80', hsts: true }, ['mode']],
  [
    '/layer7proxy/backends',
    { mode: 'tcp', balance: 'uri', persistence: { type: 'cookie' }, reals: [{ ripId: 3 }, REAL, REAL] },
    ['balance', 'name', 'persistence.type', 'reals.0.ripId', 'reals.2.ripId'],
  ],
  [
    '/ipvsDirector/frontends',
    { name: 'a', ip: '0.0.0.0', ports: '80,80', protocol: 'sctp', forwarding: 'masq', backendId: 'b' },
    ['ip', 'ports', 'protocol'],
  ],
  ['/ipvsDirector/backends', { persistMask: '24', reals: [REAL, REAL] }, ['name', 'persistMask', 'reals.1.ripId']],
  ['/ipvsDirector/backends', { name: 'a', persistTimeout: 'x', persistMask: '24' }, ['persistTimeout']],
  ['/certificates/certs', {}, ['name', 'pem']],
  ['/certificates/certs', { cert: 'x' }, ['name', 'privateKey']],
  ['/certificates/certs', { name: 'a', pfx: 3 }, ['pfx']],
]

t.test('violations of rules are reported together with those of the schema', async (test) => {
  const { call } = await borrow()
  for (const [path, body, fields] of REFUSED) {
    const { status, json } = await call('POST', path, { body })
    test.equal(status, 422)
    const told = json.errors.map(({ field }: { field: string }) => field)
    test.same(told.toSorted(), [...fields].toSorted(), `${path} ${JSON.stringify(body)}`)
  }
})
