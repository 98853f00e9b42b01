/** The verdict of an external server on a name and a password. */
export type Verdict =
  /** No server is configured. */
  | { readonly outcome: 'off' }
  /** The server has refused, or this way of logging in is not allowed. */
  | { readonly outcome: 'refused' }
  /** No server has answered. */
  | { readonly outcome: 'unreachable' }
  /** `groups` are ids of local groups; unknown ids are ignored. `name` is the server's own name for the user. */
  | { readonly outcome: 'accepted'; readonly groups: readonly string[]; readonly name?: string | undefined }

/**
 * An external source of users: the RADIUS servers of the running configuration. Errors of a server are never thrown.
 */
export interface ExternalLogin {
  /** `place` is the origin of the attempt. */
  authenticate(name: string, password: string, place: string): Promise<Verdict>
}
