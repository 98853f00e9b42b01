import type { ConfigStore } from '../../storage/config/config-store.ts'
import type { Restored, RestoreChecks } from '../context/backups.ts'
import { noteRestored } from '../config/restored-nodes.ts'
import { ApiError } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import type { JobHandle, JobKind, Jobs, WithKinds } from '../jobs/jobs.ts'

export interface RestoreCheckParts {
  readonly store: ConfigStore
  readonly engine: { validate(): Promise<void> }
}

const NEXT =
  'Review GET /services/pending, then PUT /services/apply with confirmWithin and, within that time, PUT /services/apply/confirm; DELETE /services/pending discards the restore.'

export function createRestoreChecks(parts: RestoreCheckParts & { readonly jobs: Jobs }): RestoreChecks & WithKinds {
  const kind = restoreCheck(parts)
  return {
    kinds: [kind],
    async prepare(restored, by) {
      const { wanted: nodeId, others } = restored
      const job = newId()
      parts.jobs.refuseBeside(kind.group)
      // After everything that may refuse the request; the restore is staged once this is written.
      await noteRestored(parts.store, { nodeId, others })
      return { job, start: async () => void (await parts.jobs.start(kind, restored, by, { id: job })) }
    },
  }
}

/** A job that checks the whole candidate after a full restore was staged, as POST /services/validate does. */
export function restoreCheck({ store, engine }: RestoreCheckParts): JobKind<Restored> {
  const work = async (job: JobHandle, { file, warnings }: Restored) => {
    job.report({ step: 'check the restored configuration with every program' })
    const { changeCount: changes } = store
    try {
      await engine.validate()
    } catch (error) {
      const errors = error instanceof ApiError ? (error.details.errors ?? []) : []
      job.report({ log: errors.map(({ field, message }) => `${field}: ${message}`) })
      throw error
    }
    return { file, changes, warnings, next: NEXT }
  }
  return { kind: 'backup.restore', title: 'Check of a full restore', group: 'restore', work, resume: work }
}
