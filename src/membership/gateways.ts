import type { Clock } from '../base/clock.ts'
import { EtcdClient } from '../etcd/client.ts'
import type { ClusterFiles, OwnMembership } from './cluster-files.ts'
import type { Members } from './members.ts'
import { clientUrl } from './node-address.ts'

export interface Listed {
  /** Whether the own etcd member votes, so that it answers. */
  readonly isVoter?: boolean
  /** Names of the members of the same etcd; undefined if none has listed them. */
  readonly names?: ReadonlySet<string> | undefined
}

/**
 * Returns client URLs in order of preference. The own member comes first, because it is the nearest, unless it does not
 * answer yet. If two nodes have parted, the other one's member may have another history, and is not asked: a node that
 * has taken over relies on its own member.
 */
export function gatewaysOf(
  members: Members,
  own: OwnMembership,
  { isVoter = false, names }: Listed = {},
): readonly string[] {
  const hasTakenOver =
    members.takeovers().at(-1)?.nodeId === own.nodeId && own.isReturning !== true && own.vote === undefined
  if (names === undefined && hasTakenOver) return [clientUrl(own)]
  const known = members.all().filter(({ id }) => id !== own.nodeId && names?.has(id) !== false)
  const urls = known.length === 0 ? (own.gateways ?? []) : known.map(clientUrl)
  return isVoter ? [clientUrl(own), ...urls] : [...urls, clientUrl(own)]
}

export interface ClientParts {
  readonly files: ClusterFiles
  readonly members: Members
  readonly clock: Clock
}

export function clientOf(
  { files, members, clock }: ClientParts,
  own: OwnMembership,
  gateways = gatewaysOf(members, own),
): EtcdClient {
  return new EtcdClient({ gateways, credentials: files.certificates().client, clock })
}
