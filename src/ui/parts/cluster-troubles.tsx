import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { ask } from '../core/api.ts'
import { type ClusterState, type Member, membersOf, useCluster } from '../core/cluster.ts'
import { may } from '../core/rights.ts'
import { moment, t } from '../core/text.ts'
import { Button } from './basic.tsx'
import { Icon } from './icon.tsx'
import { RemoveNode } from './remove-node.tsx'
import { attempt } from './toast.tsx'

interface Troubles {
  readonly cluster: ClusterState
  readonly onRemove: (member: Member) => void
  readonly onOpen: (id: string, begin?: Readonly<Record<string, unknown>>) => void
}

/** Problems of the cluster: what still works, and what the user can do. */
export function ClusterTroubles({ cluster, onRemove, onOpen }: Troubles) {
  const gone = membersOf(cluster).filter(({ state }) => state === 'unreachable')
  const self = cluster.nodes.find(({ isSelf }) => isSelf)
  if (cluster.removedAt !== null || cluster.halted !== null)
    return (
      <Trouble
        title={
          cluster.removedAt === null
            ? t('This node no longer follows the cluster.')
            : t('This node was removed from the cluster, {when}.', { when: moment(cluster.removedAt) })
        }
        works={t('Its HAProxy keeps serving the last configuration. Changes made on other nodes do not arrive here.')}
        todo={
          cluster.removedAt === null
            ? (cluster.halted ?? '')
            : t('Make it a single node; it can then join again with a new token.')
        }
      >
        {self === undefined ? null : (
          <Button needs="DELETE /cluster/nodes/{applianceId}" onClick={() => onRemove(self)}>
            {t('Make it a single node')}
          </Button>
        )}
      </Trouble>
    )
  if (cluster.histories !== null) return <TwoHistories cluster={cluster} />
  if (gone.length === 0 && cluster.quorum) return null
  const names = gone.map(({ name }) => name).join(', ')
  return (
    <Trouble
      title={gone.length === 0 ? t('No quorum: too few votes answer.') : t('Not answering: {names}', { names })}
      works={
        cluster.quorum
          ? t(
              'Traffic and changes continue because enough nodes answer. A node that is away catches up when it is back.',
            )
          : t('Traffic continues, and users can log in. Nothing can be changed until enough nodes answer.')
      }
      todo={
        cluster.quorum
          ? t('Check the machine, its daemon and the firewalls. Remove it only if it will not come back.')
          : isPair(cluster)
            ? may('PUT /cluster/takeover')
              ? t('Bring it back. If it is certainly off, this node can go on alone.')
              : t('Bring it back. If it is certainly off, an administrator can let this node go on alone.')
            : t('Bring one of them back. If none is left, this node can become a single node.')
      }
    >
      {cluster.quorum
        ? gone.map((one) => (
            <Button key={one.id} needs="DELETE /cluster/nodes/{applianceId}" onClick={() => onRemove(one)}>
              {t('Remove {name}', { name: one.name })}
            </Button>
          ))
        : null}
      {!cluster.quorum && isPair(cluster) ? (
        <Button needs="PUT /cluster/takeover" onClick={() => onOpen('cluster.takeOver')}>
          {t('Go on alone')}
        </Button>
      ) : null}
    </Trouble>
  )
}

/** Problems that concern only this node of a cluster. */
export function OwnTroubles() {
  const cluster = useCluster()
  const isLeaving = useSignal(false)
  if (cluster === undefined || cluster === null || (cluster.removedAt === null && cluster.halted === null)) return null
  const self = cluster.nodes.find(({ isSelf }) => isSelf)
  return (
    <>
      <ClusterTroubles cluster={cluster} onRemove={() => (isLeaving.value = true)} onOpen={() => undefined} />
      {isLeaving.value && self !== undefined ? (
        <RemoveNode cluster={cluster} member={self} onClose={() => (isLeaving.value = false)} />
      ) : null}
    </>
  )
}

const isPair = ({ nodes, witness }: ClusterState): boolean => nodes.length === 2 && witness === null

function TwoHistories({ cluster: { histories, nodes } }: { readonly cluster: ClusterState }) {
  const keep = (id: string) =>
    attempt(async () => (await ask('PUT', '/cluster/resolve', { body: { keep: id } })).message)
  const here = histories?.edits.here ?? 0
  const there = histories?.edits.there ?? 0
  return (
    <Trouble
      title={t('Both nodes went on alone, and the configuration was changed on both.')}
      works={t('Traffic continues on both nodes. Neither accepts changes until one configuration is chosen.')}
      todo={t('Choose the configuration to keep. The other one is saved to a file on its node.')}
    >
      {nodes.map(({ id, name, isSelf }) => (
        <Button key={id} needs="PUT /cluster/resolve" onClick={() => void keep(id)}>
          {t('Keep the one of {name} ({count:change|changes})', { name, count: isSelf ? here : there })}
        </Button>
      ))}
    </Trouble>
  )
}

const Trouble = ({
  title,
  works,
  todo,
  children,
}: {
  readonly title: string
  readonly works: string
  readonly todo: string
  readonly children?: ComponentChildren
}) => (
  <section class="trouble" role="alert">
    <h2>
      <Icon name="alert" /> <bdi>{title}</bdi>
    </h2>
    <dl class="facts">
      <div>
        <dt>{t('What still works')}</dt>
        <dd>{works}</dd>
      </div>
      <div>
        <dt>{t('What to do')}</dt>
        <dd>{todo}</dd>
      </div>
    </dl>
    <div class="card-foot">{children}</div>
  </section>
)
