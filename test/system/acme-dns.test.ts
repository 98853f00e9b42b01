import t from 'tap'
import { until } from '../fixtures/until.ts'
import { sandboxProblem } from '../fixtures/sandbox.ts'
import { dnsSite, SECRET } from './acme-dns-site.ts'

/** Certificates by DNS-01, wildcards included, with a script in its sandbox and the provider that it calls. */

const skip = sandboxProblem()

t.test('a wildcard is issued, its records are removed, and the secret is never shown', { skip }, async (test) => {
  const { daemon, made, refused, calls, records, dns, scriptId } = await dnsSite(test)
  test.match(await refused({ challenge: 'http-01', dns: undefined, secrets: undefined }), [
    /^names\.0 is a wildcard, which CAs issue with dns-01 only/,
  ])
  test.match(await refused({ dns: undefined }), [/^dns is required with dns-01/])
  test.match(await refused({ secrets: {} }), [/^secrets\.token is required/])
  const open = { ...dns, parameters: { ...dns.parameters, token: SECRET } }
  test.match(await refused({ dns: open, secrets: {} }), [/^dns\.parameters\.token is a secret/])
  test.match(await refused({ dns: { ...dns, nameServers: ['ns1'] } }), [/^dns\.nameServers\.0 must be an address/])

  const { id, order, certificateId } = await made()
  const valid = await until('the certificate', order, ({ state, lastError }) => {
    if (lastError !== null) throw new Error(lastError)
    return state === 'valid'
  })
  test.match(valid, { failures: 0, secrets: { token: '**' }, dns: { scriptId } })
  const { certInfo } = await daemon.data('GET', `/certificates/certs/${certificateId}`)
  test.same(certInfo.subjectAlt.toSorted(), ['*.site.test', 'site.test'])
  await until('the end of its records', order, () => records.size === 0)
  test.same([...new Set(calls.map(({ name }) => name))], ['_acme-challenge.site.test'])
  test.equal(calls.filter(({ action }) => action === 'present').length, 2)
  await until('that it is known', order, ({ leftRecords }) => leftRecords.length === 0)

  const { issuedAt } = await order()
  await daemon.data('PUT', `/certificates/acme/orders/${id}`, { name: 'renamed', secrets: { token: '**' } })
  await daemon.data('PUT', '/services/apply')
  test.match(await order(), { name: 'renamed', state: 'valid', issuedAt, secrets: { token: '**' } }, 'no new order')
  await daemon.data('PUT', `/certificates/acme/orders/${id}/renew`)
  await until('another one', order, (now) => now.state === 'valid' && now.issuedAt !== issuedAt)

  const change = { name: 'provider', description: '', script: '#!/bin/sh\n', services: ['layer-7'], parameters: [] }
  const { json } = await daemon.call('PUT', `/healthchecks/${scriptId}`, { body: change })
  test.match(json.errors, [{ field: 'services', message: /^break the ACME order renamed/ }])
  const said = daemon.stdout + daemon.stderr + JSON.stringify(await daemon.data('GET', '/revisions'))
  test.notOk(said.includes(SECRET))
  const { text } = await daemon.call('GET', '/audit')
  test.notOk(text.includes(SECRET))
})
