/** What the kernel remembers of the clients of persistent services that are reached by firewall marks. */
export interface Persistence {
  readonly templates: readonly PersistenceTemplate[]
  /** Which clients were moved from a mark to another one. */
  readonly moved: readonly MovedClient[]
}
export interface PersistenceTemplate {
  readonly mark: number
  /** Address of the client; that of its network where a mask counts several clients as one. */
  readonly clientIp: string
  readonly expires_s: number
}
export interface MovedClient {
  /** CIDR. */
  readonly client: string
  readonly from: number
  readonly to: number
}
