/** What another server says of a name and a password. */
export type Verdict =
  /** Nobody is to be asked. */
  | { readonly outcome: 'off' }
  /** The server refused, or nobody may come in this way. */
  | { readonly outcome: 'refused' }
  /** Nobody answered. */
  | { readonly outcome: 'unreachable' }
  /**
   * `groups` are ids of groups here; an id without a group is ignored. `name` is the server's own name for the user.
   */
  | { readonly outcome: 'accepted'; readonly groups: readonly string[]; readonly name?: string | undefined }

/**
 * An external source of users: the RADIUS servers of the running configuration. Errors of a server are never thrown.
 */
export interface ExternalLogin {
  /** `place` is where the attempt comes from. */
  authenticate(name: string, password: string, place: string): Promise<Verdict>
}
