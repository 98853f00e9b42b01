import { useSignal } from '@preact/signals'
import { ask } from '../core/api.ts'
import { type ClusterState, lookAtCluster, type Member } from '../core/cluster.ts'
import { changed } from '../core/live.ts'
import { t } from '../core/text.ts'
import { Button, Problem } from './basic.tsx'
import { Dialog } from './dialog.tsx'
import { useDoing } from './doing.ts'
import { say } from './toast.tsx'

interface Removal {
  readonly cluster: ClusterState
  readonly member: Member
  readonly onClose: () => void
}

/** Explains the consequences, and asks for the name before it removes the node. */
export function RemoveNode({ cluster, member, onClose }: Removal) {
  const typed = useSignal('')
  const isForced = useSignal(false)
  const { isBusy, refusal, run } = useDoing(() =>
    t('The daemon does not answer; the other nodes are carrying on. Check again in a moment.'),
  )
  const isSelf = cluster.nodes.some(({ id, isSelf: own }) => own && id === member.id)
  const { name, state } = member
  const remove = () =>
    run(async () => {
      const query = isSelf && isForced.value ? { force: true } : {}
      const { message } = await ask('DELETE', `/cluster/nodes/${member.id}`, { query, body: {} })
      say(message)
      onClose()
      await Promise.all([lookAtCluster(), changed()])
    })
  return (
    <Dialog
      title={isSelf ? t('Leave the cluster') : t('Remove {name}', { name })}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t('Cancel')}</Button>
          <Button
            kind="danger"
            icon="trash"
            isBusy={isBusy.value}
            disabled={typed.value.trim() !== name}
            onClick={() => void remove()}
          >
            {refusal.value === undefined ? (isSelf ? t('Leave') : t('Remove')) : t('Try again')}
          </Button>
        </>
      }
    >
      <Problem text={refusal.value?.message} />
      <ul class="bullets">
        {meaningOf(cluster, member, isSelf).map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      {isSelf && !cluster.quorum ? (
        <label class="inline">
          <input
            type="checkbox"
            checked={isForced.value}
            onChange={(event) => (isForced.value = event.currentTarget.checked)}
          />{' '}
          {t('Even if the other nodes cannot be notified')}
        </label>
      ) : null}
      <label class="field">
        {t('Type {name} to confirm', { name })}
        <input
          type="text"
          autocomplete="off"
          value={typed.value}
          onInput={(event) => (typed.value = event.currentTarget.value)}
        />
      </label>
      {state === 'unreachable' && cluster.nodes.length === 2 && cluster.witness === null ? (
        <p class="hint">{t('In a cluster of two nodes, the one that stays must first be able to go on alone.')}</p>
      ) : null}
    </Dialog>
  )
}

function meaningOf(cluster: ClusterState, { id, state }: Member, isSelf: boolean): readonly string[] {
  if (cluster.witness?.id === id)
    return [
      t('It no longer votes, forgets the cluster, and waits for a new token.'),
      t('Nodes and traffic are not affected.'),
    ]
  if (isSelf || state === 'online')
    return [
      t('It becomes a single node with its current configuration and users; its traffic continues.'),
      t('Later changes on either side stay on that side.'),
      t('Its floating IPs move to a remaining node.'),
    ]
  return [
    t('It is locked out: its certificates are revoked, and no node answers it any longer.'),
    t('Everything written from now on is sealed with a key that it has never had.'),
    t('If it comes back, it has to become a single node before it can join again with a new token.'),
  ]
}
