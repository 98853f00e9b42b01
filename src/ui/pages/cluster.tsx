import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { ask } from '../core/api.ts'
import {
  type ClusterNode,
  type ClusterState,
  clusterProblem,
  type Member,
  membersOf,
  useCluster,
} from '../core/cluster.ts'
import { ago, day, moment, t } from '../core/text.ts'
import { Badge, Button, Loading, PageHead, Problem, Tile, type Tone } from '../parts/basic.tsx'
import { ClusterTroubles } from '../parts/cluster-troubles.tsx'
import { JoinCluster } from '../parts/join-cluster.tsx'
import { LetJoin } from '../parts/let-join.tsx'
import { OperationDialog } from '../parts/operation-dialog.tsx'
import { RemoveNode } from '../parts/remove-node.tsx'
import { attempt } from '../parts/toast.tsx'

/** The nodes of the cluster: their state, and how to add and remove them. */
export function ClusterPage() {
  const now = useCluster()
  const isLettingIn = useSignal(false)
  const leaving = useSignal<Member | undefined>(undefined)
  const asked = useSignal<{ readonly id: string; readonly begin: Readonly<Record<string, unknown>> } | undefined>(
    undefined,
  )
  if (now === undefined)
    return clusterProblem.value === undefined ? <Loading /> : <Problem text={clusterProblem.value} />
  if (now === null) return <JoinCluster />
  const self = now.nodes.find(({ isSelf }) => isSelf)
  const open = (id: string, begin: Readonly<Record<string, unknown>> = {}) => (asked.value = { id, begin })
  return (
    <>
      <PageHead title={now.name} hint={t('The cluster as {name} sees it.', { name: self?.name ?? '' })}>
        <Badge tone={now.quorum ? 'good' : 'bad'}>{now.quorum ? t('quorum') : t('no quorum')}</Badge>
        {self === undefined ? null : (
          <Button needs="DELETE /cluster/nodes/{applianceId}" onClick={() => (leaving.value = self)}>
            {t('Leave the cluster')}
          </Button>
        )}
        <Button kind="main" icon="plus" needs="POST /cluster/tokens" onClick={() => (isLettingIn.value = true)}>
          {t('Add a node')}
        </Button>
      </PageHead>
      <Problem text={clusterProblem.value} />
      <ClusterTroubles cluster={now} onRemove={(gone) => (leaving.value = gone)} onOpen={open} />
      <Figures cluster={now} />
      <div class="members">
        {now.nodes.map((node) => (
          <NodeCard
            key={node.id}
            node={node}
            hasAddresses={now.nodes.some((one) => one.floatingIps.length > 0)}
            onRemove={() => (leaving.value = node)}
            onOpen={open}
          />
        ))}
        {now.witness === null ? null : (
          <WitnessCard witness={now.witness} onRemove={() => (leaving.value = now.witness ?? undefined)} />
        )}
      </div>
      {isLettingIn.value ? <LetJoin onClose={() => (isLettingIn.value = false)} /> : null}
      {leaving.value === undefined ? null : (
        <RemoveNode cluster={now} member={leaving.value} onClose={() => (leaving.value = undefined)} />
      )}
      {asked.value === undefined ? null : (
        <OperationDialog {...asked.value} onClose={() => (asked.value = undefined)} />
      )}
    </>
  )
}

function Figures({ cluster }: { readonly cluster: ClusterState }) {
  const members = membersOf(cluster)
  const [reached, voters] = [members.filter(({ state }) => state === 'online'), members.filter((one) => one.isVoter)]
  const leader = members.find(({ isLeader }) => isLeader)
  const versions = [...new Set(cluster.nodes.map(({ version }) => version))]
  return (
    <div class="tiles">
      <Tile
        title={t('Nodes answering')}
        value={`${reached.length} / ${members.length}`}
        more={cluster.witness === null ? '' : t('with the witness')}
      />
      <Tile
        title={t('Votes')}
        value={voters.length}
        more={leader === undefined ? '' : t('Leader: {name}', { name: leader.name })}
      />
      <Tile
        title={t('Spare votes')}
        value={cluster.spareVotes}
        more={
          cluster.spareVotes > 0
            ? t('Number of votes that may fail while changes remain possible.')
            : cluster.quorum
              ? t('If one more vote fails, nothing can be changed; traffic continues.')
              : t('Nothing can be changed at the moment; traffic continues.')
        }
      />
      <Tile
        title={t('Version')}
        value={versions.length === 1 ? (versions[0] ?? '–') : t('{count} different', { count: versions.length })}
        more={versions.length === 1 ? t('the same everywhere') : versions.join(', ')}
      />
    </div>
  )
}

const TONES: Readonly<Record<Member['state'], Tone>> = { online: 'good', unreachable: 'bad', unknown: 'idle' }

const MemberHead = ({ member, isSelf = false }: { readonly member: Member; readonly isSelf?: boolean }) => (
  <header class="card-head">
    <h2>
      <bdi>{member.name}</bdi>
    </h2>
    <div class="badges">
      <Badge tone={TONES[member.state]}>{t(member.state)}</Badge>
      {isSelf ? <Badge tone="info">{t('this node')}</Badge> : null}
      {member.isLeader ? <Badge tone="info">{t('leader')}</Badge> : null}
      {member.isVoter ? null : <Badge tone="warn">{t('no vote at the moment')}</Badge>}
    </div>
  </header>
)

function NodeCard({
  node,
  hasAddresses,
  onRemove,
  onOpen,
}: {
  readonly node: ClusterNode
  /** Whether there are floating IPs, so that it matters which nodes may take them. */
  readonly hasAddresses: boolean
  readonly onRemove: () => void
  readonly onOpen: (id: string, begin?: Readonly<Record<string, unknown>>) => void
}) {
  const { id, name, isSelf, maintenance, isReady, floatingIps, ahead } = node
  const maintain = (enabled: boolean) =>
    attempt(async () => (await ask('PUT', `/cluster/nodes/${id}/maintenance`, { body: { enabled } })).message)
  return (
    <section class="card" data-node={name}>
      <MemberHead member={node} isSelf={isSelf} />
      {maintenance === null ? null : (
        <p class="problem block warn">
          {t('In maintenance since {since}, by {by}.', { since: moment(maintenance.since), by: maintenance.by })}{' '}
          {maintenance.reason ?? ''}
        </p>
      )}
      <dl class="facts">
        <Fact title={t('Address')}>
          <span class="code">{node.address}</span>
        </Fact>
        <Fact title={t('Floating IPs')}>
          {floatingIps.length === 0 ? (
            <span class="hint">{t('none')}</span>
          ) : (
            floatingIps.map((ip) => (
              <span key={ip} class="code address">
                {ip}
              </span>
            ))
          )}
          {isReady === false && hasAddresses ? <Badge tone="warn">{t('takes none at the moment')}</Badge> : null}
        </Fact>
        <Fact title={t('Version')}>{node.version}</Fact>
        <MemberFacts member={node} />
        {ahead === 0 ? null : (
          <Fact title={t('Applied only here')}>
            {t('{count:record|records}, until the next apply on all nodes', { count: ahead })}
          </Fact>
        )}
      </dl>
      <div class="card-foot">
        <Button
          needs="PUT /cluster/nodes/{applianceId}/maintenance"
          onClick={() => void maintain(maintenance === null)}
        >
          {maintenance === null ? t('Start maintenance') : t('End maintenance')}
        </Button>
        {isSelf ? (
          <Button
            icon="edit"
            needs="PUT /cluster/nodes/{applianceId}"
            onClick={() => onOpen('cluster.changeNode', { applianceId: id })}
          >
            {t('Name and address')}
          </Button>
        ) : (
          <RemoveButton name={name} onRemove={onRemove} />
        )}
      </div>
    </section>
  )
}

const RemoveButton = ({ name, onRemove }: { readonly name: string; readonly onRemove: () => void }) => (
  <Button
    kind="danger"
    icon="trash"
    needs="DELETE /cluster/nodes/{applianceId}"
    aria-label={t('Remove {name}', { name })}
    onClick={onRemove}
  >
    {t('Remove')}
  </Button>
)

const WitnessCard = ({ witness, onRemove }: { readonly witness: Member; readonly onRemove: () => void }) => (
  <section class="card" data-node={witness.name}>
    <MemberHead member={witness} />
    <p class="hint">{t('A witness votes, and has no configuration and no traffic.')}</p>
    <dl class="facts">
      <Fact title={t('Address')}>
        <span class="code">{witness.address}</span>
      </Fact>
      <Fact title={t('Version')}>{witness.version}</Fact>
      <MemberFacts member={witness} />
    </dl>
    <div class="card-foot">
      <RemoveButton name={witness.name} onRemove={onRemove} />
    </div>
  </section>
)

const MemberFacts = ({ member: { since, certificateEnd } }: { readonly member: Member }) => (
  <>
    <Fact title={t('Joined')}>
      <time dateTime={since} title={moment(since)}>
        {ago(since)}
      </time>
    </Fact>
    <Fact title={t('Certificates until')}>{certificateEnd === null ? '–' : day(certificateEnd)}</Fact>
  </>
)

const Fact = ({ title, children }: { readonly title: string; readonly children: ComponentChildren }) => (
  <div>
    <dt>{title}</dt>
    <dd>{children}</dd>
  </div>
)
