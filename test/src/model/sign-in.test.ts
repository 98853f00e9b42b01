import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import t from 'tap'
import { RADIUS_HOSTS_MAX, RadiusConfig, RadiusHost, RadiusUser } from '../../../src/model/sign-in.ts'
import { NO_RADIUS } from '../../../src/rules/radius.ts'

const fits = (schema: TSchema, value: unknown) => Compile(schema).Check(value)
const host = { host: 'radius.test', port: 1812, sharedSecret: '', priority: 0 }
const config = { ...NO_RADIUS, id: 'cluster' }

t.test('a RADIUS configuration: the meaning of an empty one fits, and every limit', async (test) => {
  test.ok(fits(RadiusConfig, config))
  for (const authProtocol of ['PAP', 'CHAP', 'MSCHAPv2']) test.ok(fits(RadiusConfig, { ...config, authProtocol }))
  for (const wrong of [
    { authProtocol: 'EAP' },
    { timeout: 0 },
    { timeout: 61 },
    { retries: -1 },
    { retries: 11 },
    { port: null },
    { sharedSecret: 'a\nb' },
    { nasIdentifier: 'x'.repeat(254) },
    { hosts: Array.from({ length: RADIUS_HOSTS_MAX + 1 }, () => host) },
    { groupMappings: [{ value: 'ops' }] },
    { extra: 1 },
  ]) {
    test.notOk(fits(RadiusConfig, { ...config, ...wrong }), JSON.stringify(wrong).slice(0, 60))
  }
})

t.test('a RADIUS server: its own port, or the common one', async (test) => {
  for (const port of [1, 65_535, null]) test.ok(fits(RadiusHost, { ...host, port }))
  for (const port of [0, 65_536, '1812', undefined]) test.notOk(fits(RadiusHost, { ...host, port }))
  for (const wrong of [{ host: '' }, { priority: -1 }, { sharedSecret: 'x'.repeat(129) }, { sharedSecret: 'a\0' }]) {
    test.notOk(fits(RadiusHost, { ...host, ...wrong }))
  }
})

t.test('a RADIUS user', async (test) => {
  const user = { id: 'r', username: 'CORP\\nemo', disabled: false, groups: ['ops'], createdAt: '2026-01-01T00:00:00Z' }
  test.ok(fits(RadiusUser, user))
  test.notOk(fits(RadiusUser, { ...user, username: 'a\nb' }))
  test.notOk(fits(RadiusUser, { ...user, groups: ['ops', 'ops'] }))
  test.notOk(fits(RadiusUser, { ...user, roles: [] }))
})
