import type { Daemon } from '../fixtures/daemon.ts'
import { freePort } from '../fixtures/traffic.ts'
import { client } from './tls-frontend.ts'

export const SITE = 'www.site.test'

interface Ca {
  readonly directoryUrl: string
  readonly root: string
}

/** Returns the id of an account at a CA of `pebbleFixture`. */
export async function accountAt(daemon: Daemon, { directoryUrl, root }: Ca, more: object = {}): Promise<string> {
  const account = { name: 'ca', directoryUrl, caCertificate: root, termsAgreed: true, ...more }
  return (await daemon.data('POST', '/certificates/acme/accounts', account)).id
}

/** Creates a site whose certificate is ordered from a CA by the next apply. */
export async function acmeSite(daemon: Daemon, ca: Ca, httpPort: number) {
  const web = { mode: 'http', ip: '127.0.0.1' }
  const open = { ...web, name: 'plain', ports: String(httpPort) }
  const { id: plain } = await daemon.data('POST', '/layer7proxy/frontends', open)
  const accountId = await accountAt(daemon, ca, { contact: ['ops@site.test'], httpPort })
  const ordered = { name: 'site', accountId, names: [SITE, 'api.site.test'] }
  const { id, certificateId } = await daemon.data('POST', '/certificates/acme/orders', ordered)
  const port = await freePort()
  const tls = { name: 'tls', ports: String(port), certificates: [certificateId], httpRedirectToHttps: true }
  await daemon.data('POST', '/layer7proxy/frontends', { ...web, ...tls })
  const order = () => daemon.data('GET', `/certificates/acme/orders/${id}`)
  const issuer = async () => /^issuer=.*CN ?= ?(.*)$/m.exec(await client(port, '-servername', SITE))?.[1]
  return { id, accountId, certificateId, plain, port, order, issuer }
}
