import type { Test } from 'tap'

interface Answered {
  readonly status: number
  readonly data: unknown
  /** Job of a 202. */
  readonly job: string
  readonly text: string
}
export interface SnapshotApi {
  /** Paths after /api/v1/NODE. */
  readonly request: (method: string, path: string, body?: unknown) => Promise<Answered>
  /** Resolves with the job when it has ended. */
  readonly ended: (job: string) => Promise<{ readonly state: string }>
}

const PATH = '/lvmsnapshots'

/**
 * The behaviour of the snapshot endpoints on any machine with LVM and without a snapshot, which it leaves behind
 * likewise.
 */
export async function snapshotConformance(t: Test, { request, ended }: SnapshotApi): Promise<void> {
  const state = async () => (await request('GET', PATH)).data
  const begin = async (method: string) => {
    const { status, data, job, text } = await request(method, PATH)
    t.equal(status, 202, text)
    t.equal(data, undefined, 'a message only')
    t.equal((await ended(job)).state, 'succeeded')
  }
  t.same(await state(), { created: '', status: 'none', size: '', used: '' })
  t.equal((await request('PUT', PATH, { reboot: false })).status, 404, 'nothing to restore')
  t.equal((await request('DELETE', PATH)).status, 404, 'nothing to delete')
  await begin('POST')
  t.match(await state(), {
    created: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000$/,
    status: 'available',
    size: /^\d+\.\d\d MiB$/,
    used: /^\d+\.\d\d%$/,
  })
  t.equal((await request('POST', PATH)).status, 409, 'one at a time')
  await begin('DELETE')
  t.same(await state(), { created: '', status: 'none', size: '', used: '' })
}
