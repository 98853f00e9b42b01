/** The kernel's persistence entries for clients of services that are reached by firewall marks. */
export interface Persistence {
  readonly templates: readonly PersistenceTemplate[]
  /** Clients that were moved from one mark to another. */
  readonly moved: readonly MovedClient[]
}
export interface PersistenceTemplate {
  readonly mark: number
  /** Address of the client, or of its network if a mask counts several clients as one. */
  readonly clientIp: string
  readonly expires_s: number
}
export interface MovedClient {
  /** CIDR. */
  readonly client: string
  readonly from: number
  readonly to: number
}
