import type { ConfigStore } from '../../storage/config/config-store.ts'
import { ApiError } from '../base/errors.ts'
import { ACCESS_SECTIONS } from '../model/access-sections.ts'
import { SECTION_NAMES, type SectionName } from '../model/sections.ts'
import type { UnitsActor } from '../context/units.ts'
import { type Settings, SettingsError } from '../settings.ts'
import { addressText, type SocketAddress } from '../base/socket-address.ts'

/** A HAProxy that is configured elsewhere: every change to it is refused before anything is stored or sent. */
export class ObservedHaproxy {
  readonly #refusal: string

  constructor(address: SocketAddress) {
    this.#refusal = `This daemon only observes the HAProxy at ${addressText(address)} and cannot change it: change its own configuration, or start a daemon without --observe to configure a HAProxy with this API`
  }

  /** Called before a section is edited. */
  refuseEdit(section: SectionName): void {
    if (!ACCESS_SECTIONS.has(section)) this.refuse()
  }

  refuse(): never {
    throw new ApiError('NOT_SUPPORTED', this.#refusal)
  }

  /** No program is managed, so none can be listed or operated. */
  readonly units: UnitsActor = { list: () => [], operate: async () => this.refuse(), update: async () => this.refuse() }
}

/**
 * Returns the HAProxy of `--observe`, if any. Refuses a state folder that holds a configuration of its own: that
 * configuration would neither be enforced nor be the subject of the statistics.
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
    `--observe: the state folder ${state} contains the configuration of another HAProxy; choose another folder with --state`,
  )
}
