import type { Test } from 'tap'
import { temporaryFolder } from '../fixtures/folder.ts'
import { Daemon } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { freePort, startOrigin } from '../fixtures/traffic.ts'
import { plainHaproxy } from './plain-haproxy.ts'

const DEFAULTS = 'defaults\n  mode http\n  timeout connect 2s\n  timeout client 30s\n  timeout server 30s\n'

/** A daemon that watches this socket, logged in. */
export async function observer(test: Test, socket: string, state = temporaryFolder(test, 'observer')): Promise<Daemon> {
  const daemon = new Daemon(state, ['--observe', socket])
  test.teardown(() => daemon.end())
  await daemon.start()
  await daemon.login()
  return daemon
}

/** A HAProxy with one frontend and two backends, not yet started. */
export async function site(test: Test, statsOptions?: string) {
  const origin = await startOrigin(test, 'one')
  const port = await freePort()
  const proxies = (extra = '') =>
    `${DEFAULTS}frontend www:main.1\n  bind 127.0.0.1:${port}\n  default_backend shop\n` +
    `backend shop\n  server web-1 127.0.0.1:${origin.port} check\n  server web-2 127.0.0.1:${origin.port}\n` +
    `backend blog\n  server web-1 127.0.0.1:${origin.port}\n${extra}`
  const haproxy = plainHaproxy(test, proxies(), statsOptions)
  return { haproxy, origin, port, proxies }
}

export const stats = (daemon: Daemon, path = '') => daemon.data('GET', `/${daemon.node}/layer7proxy/stats${path}`)
export const names = (figures: readonly { name: string }[]) => figures.map(({ name }) => name)
/** Waits for the first figures. */
export const upAgain = (daemon: Daemon) =>
  until(
    'figures',
    () => stats(daemon),
    ({ frontends }) => typeof frontends[0]?.totalSessions === 'number',
  )

/** Returns the sessions of the last ten minutes, from the history of one object. */
export const sessionsOf = (daemon: Daemon, path: string): Promise<number> => sumOf(daemon, path, 'sessionRate')

type Metric = 'sessionRate' | 'bytesOut'

/** Returns each second of the last ten minutes; null where nothing is known. */
async function secondsOf(daemon: Daemon, path: string, metric: Metric): Promise<readonly (number | null)[]> {
  const now = Math.floor(Date.now() / 1000)
  const data = await stats(daemon, `${path}/history?start=${now - 600}&end=${now}&resolution=1&metrics=${metric}`)
  const { series } = Array.isArray(data) ? data[0] : data
  return series[metric]
}

export async function sumOf(daemon: Daemon, path: string, metric: Metric): Promise<number> {
  const seconds = await secondsOf(daemon, path, metric)
  return seconds.reduce((sum: number, rate) => sum + (rate ?? 0), 0)
}

/** Returns whether the daemon could not poll for longer than rates span: counts from that time are in no second. */
export async function stoodStill(daemon: Daemon, path: string): Promise<boolean> {
  const seconds = await secondsOf(daemon, path, 'sessionRate')
  const isKnown = (rate: number | null) => rate !== null
  return seconds.slice(seconds.findIndex(isKnown), seconds.findLastIndex(isKnown)).includes(null)
}
