import type { ConfigStore } from '../../storage/config/config-store.ts'
import type { MachineClock } from '../base/clock.ts'
import type { Events } from '../events/events.ts'
import type { Log } from '../base/log.ts'
import type { ConfigView } from '../model/sections.ts'
import { quietUntil_ms } from '../rules/acme.ts'
import { nameOf, neededAuthoritiesOf } from '../rules/client-authorities.ts'
import { endOf } from '../rules/certificate-end.ts'
import { Repeated } from '../base/repeated.ts'

const LOOK_EVERY_MS = 3_600_000
const DAY_MS = 86_400_000
/** Days before the end at which an event is reported; 0 means that the certificate has ended. */
const WARN_AT_DAYS = [30, 14, 7, 1, 0] as const
const TOLD_KEY = 'certificates told'

/** A certificate that needs a replacement in time. */
export interface WatchedCertificate {
  readonly name: string
  readonly fingerprint: string
  /**
   * The time from which clients refuse it: its own end, or that of an issuer which is sent with it and ends earlier.
   */
  readonly notAfter: Date
  /** Until then no event is needed, as an order renews it. */
  readonly quietUntil_ms?: number | undefined
  /** Names of the objects that present it. */
  readonly usedBy: readonly string[]
}

/** Returns the uploaded certificates, in use or not: an unused one may be meant for later. */
export function certificatesIn(running: ConfigView): readonly WatchedCertificate[] {
  const users = usersIn(running)
  return [...running.list('certificates')].map((certificate) => ({
    name: certificate.name,
    fingerprint: certificate.facts.fingerprint,
    notAfter: endOf(certificate),
    quietUntil_ms: quietUntil_ms(running, certificate),
    usedBy: users.get(certificate.id) ?? [],
  }))
}

/** Returns the authorities that verify clients: when one ends, HAProxy refuses all of its clients. */
export function clientAuthoritiesIn(running: ConfigView): readonly WatchedCertificate[] {
  const found = new Map<string, WatchedCertificate>()
  for (const frontend of running.list('l7Frontends'))
    for (const { fingerprint256: fingerprint, subject, validTo } of neededAuthoritiesOf(frontend)) {
      const usedBy = [...(found.get(fingerprint)?.usedBy ?? []), `frontend ${frontend.name}`]
      const name = `${nameOf(subject)} in clientCa`
      found.set(fingerprint, { name, fingerprint, notAfter: new Date(validTo), usedBy })
    }
  return [...found.values()]
}

/** Returns the names of the objects that present each certificate, by its id. */
function usersIn(running: ConfigView): ReadonlyMap<string, readonly string[]> {
  const users = new Map<string, string[]>()
  const uses = (id: string | null | undefined, who: string) => {
    const known = users.get(id ?? '')
    if (known === undefined) users.set(id ?? '', [who])
    else if (known.at(-1) !== who) known.push(who)
  }
  for (const { name, certificates = [] } of running.list('l7Frontends')) {
    const who = `frontend ${name}`
    for (const id of certificates) uses(id, who)
  }
  for (const { SSLCertificate } of running.list('userInterfaces')) uses(SSLCertificate, 'user interface')
  for (const { certificateId } of running.list('syslogServers')) uses(certificateId, 'syslog')
  for (const { name, certificateId } of running.list('alertTargets')) uses(certificateId, `alert target ${name}`)
  return users
}

export interface CertificateWatchParts {
  readonly certificates: () => readonly WatchedCertificate[]
  readonly store: Pick<ConfigStore, 'getMeta' | 'putMeta'>
  readonly events: Pick<Events, 'publish'>
  readonly clock: Pick<MachineClock, 'now_ms'>
  readonly log: Pick<Log, 'warn'>
}

/**
 * Reports certificates that are about to expire, once at each step: 30, 14, 7 and 1 days before, and after their end.
 */
export class CertificateWatch {
  readonly #parts: CertificateWatchParts
  readonly #looks: Repeated

  constructor(parts: CertificateWatchParts) {
    this.#parts = parts
    this.#looks = new Repeated('certificates', () => this.look(), LOOK_EVERY_MS, parts.log)
  }

  start(): Promise<void> {
    this.#looks.start()
    return this.#looks.now()
  }

  close(): void {
    this.#looks.stop()
  }

  async look(): Promise<void> {
    const { certificates, store, events, clock } = this.#parts
    const before = told(store)
    const now: Record<string, number> = {}
    for (const { name, fingerprint, notAfter, usedBy, quietUntil_ms: quiet_ms = 0 } of certificates()) {
      if (clock.now_ms() < quiet_ms) continue
      const days = Math.max(0, Math.ceil((notAfter.getTime() - clock.now_ms()) / DAY_MS))
      const step = WARN_AT_DAYS.findLast((warning) => days <= warning)
      if (step === undefined) continue
      now[fingerprint] = step
      if ((before[fingerprint] ?? Number.POSITIVE_INFINITY) <= step) continue
      const state = days === 0 ? 'expired' : 'expires'
      events.publish('certificate', { state, name, days, notAfter: notAfter.toISOString(), fingerprint, usedBy })
    }
    if (JSON.stringify(now) !== JSON.stringify(before)) await store.putMeta(TOLD_KEY, now)
  }
}

/** Returns the last of WARN_AT_DAYS that was reported, by fingerprint. */
function told(store: Pick<ConfigStore, 'getMeta'>): Readonly<Record<string, number>> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `look` only
  return (store.getMeta(TOLD_KEY) as Record<string, number> | undefined) ?? {}
}
