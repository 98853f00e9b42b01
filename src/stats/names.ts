import type { RealServer } from '../model/real-server.ts'

/**
 * The part of the running configuration that the statistics need. Implemented by the owner of the configuration. In the
 * generated haproxy.cfg a proxy carries the record's id as its name and a server carries the real server's id, so
 * HAProxy reports ids; display names come from here.
 */
export interface NamedObject {
  readonly id: string
  readonly name: string
  /** HAProxy's name where it is not the id: in a HAProxy that is configured elsewhere. */
  readonly called?: string
}

export interface NamedReal {
  readonly ripId: string
  readonly name: string
  readonly called?: string
}

export interface NamedBackend extends NamedObject {
  readonly reals: readonly NamedReal[]
}

export interface ObjectNames {
  /** Changes whenever anything below except a state changes; rendered names are kept until then. */
  readonly version: number
  /** Changes whenever a state does, where states are configured here. */
  readonly states?: number
  /** Whether a real server takes traffic, where that is configured here. */
  state?(ripId: string): RealServer['state'] | undefined
  frontends(): Iterable<NamedObject>
  backends(): Iterable<NamedBackend>
  frontend(id: string): NamedObject | undefined
  backend(id: string): NamedBackend | undefined
  /**
   * Returns the backends that hold this real server: `[]` when it exists and is in none, `undefined` when there is no
   * such real server.
   */
  backendsOfRip(ripId: string): readonly NamedBackend[] | undefined
}
