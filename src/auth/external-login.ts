/** What another server says of a name and a password. */
export type Verdict =
  /** Nobody is to be asked. */
  | { readonly outcome: 'off' }
  /** Who was asked says no, or nobody may come in this way. */
  | { readonly outcome: 'refused' }
  /** Nobody answered. */
  | { readonly outcome: 'unreachable' }
  /**
   * `groups` are ids of groups here; one that is gone counts for nothing. `name` is what the server calls who was let
   * in.
   */
  | { readonly outcome: 'accepted'; readonly groups: readonly string[]; readonly name?: string | undefined }

/** Somebody else who knows users: the RADIUS servers of running. Never throws for what a server does. */
export interface ExternalLogin {
  /** `place` is where the attempt comes from. */
  authenticate(name: string, password: string, place: string): Promise<Verdict>
}
