import type { ConfigStore } from '../../storage/config/config-store.ts'
import { ApiError } from '../base/errors.ts'
import { ACCESS_SECTIONS } from '../model/access-sections.ts'
import { SECTION_NAMES, type SectionName } from '../model/sections.ts'
import type { UnitsActor } from '../context/units.ts'
import { type Settings, SettingsError } from '../settings.ts'
import { addressText, type SocketAddress } from '../base/socket-address.ts'

/**
 * A HAProxy that somebody else configures: everything that would change it is refused before anything is stored or
 * sent.
 */
export class ObservedHaproxy {
  readonly #refusal: string

  constructor(address: SocketAddress) {
    this.#refusal = `This daemon only observes the HAProxy at ${addressText(address)} and changes nothing of it: change it where it is configured, or start a daemon without --observe to configure a HAProxy with this API`
  }

  /** For a section that is about to be edited. */
  refuseEdit(section: SectionName): void {
    if (!ACCESS_SECTIONS.has(section)) this.refuse()
  }

  refuse(): never {
    throw new ApiError('NOT_SUPPORTED', this.#refusal)
  }

  /** No program is managed, so there is none to list or to operate. */
  readonly units: UnitsActor = { list: () => [], operate: async () => this.refuse(), update: async () => this.refuse() }
}

/**
 * The HAProxy of `--observe`, if any. Refused for a state folder with a configuration for a HAProxy of its own, which
 * would neither be enforced nor be what the statistics are about.
 */
export function observedHaproxy(
  { observe, state }: Pick<Settings, 'observe' | 'state'>,
  store: ConfigStore,
): ObservedHaproxy | undefined {
  if (observe === undefined) return undefined
  const isUsed = SECTION_NAMES.filter((section) => !ACCESS_SECTIONS.has(section)).some(
    (section) => store.running.list(section, '').length > 0 || store.candidate.list(section, '').length > 0,
  )
  if (!isUsed && store.journal() === undefined) return new ObservedHaproxy(observe)
  throw new SettingsError(
    `--observe: the state folder ${state} holds the configuration of another HAProxy; choose another one with --state`,
  )
}
