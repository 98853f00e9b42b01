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

/** Says what it means, and asks for the name before it does it. */
export function RemoveNode({ cluster, member, onClose }: Removal) {
  const typed = useSignal('')
  const isForced = useSignal(false)
  const { isBusy, refusal, run } = useDoing(() =>
    t('The daemon does not answer; others go on with it. Look again in a moment.'),
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
          {t('Also where the others cannot be told')}
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
        <p class="hint">{t('Of two nodes, the one that stays has to be able to go on alone first.')}</p>
      ) : null}
    </Dialog>
  )
}

function meaningOf(cluster: ClusterState, { id, state }: Member, isSelf: boolean): readonly string[] {
  if (cluster.witness?.id === id)
    return [
      t('It votes no longer, forgets the cluster, and waits for another token.'),
      t('Nodes and traffic go on as they are.'),
    ]
  if (isSelf || state === 'online')
    return [
      t('It becomes a single node, with the configuration and users that it has now; its traffic goes on.'),
      t('What is changed from then on, here or there, is changed there only.'),
      t('Its floating IPs go to a node that stays.'),
    ]
  return [
    t('It is locked out: its certificates are revoked, and no node answers it any more.'),
    t('What is written from then on is sealed with a key that it never had.'),
    t('Should it come back, it has to become a single node, and can join again with a new token.'),
  ]
}
