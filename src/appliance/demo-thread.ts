import { Worker } from 'node:worker_threads'
import type { DemoCommand, DemoData, DemoReport } from '../../workers/demo.ts'

/**
 * Starts the origins and traffic of a demonstration. Rejects when the origins cannot listen; the thread then ends on
 * its own.
 */
export async function startDemoThread(
  data: DemoData,
): Promise<{ readonly worker: Worker; readonly originPorts: readonly [number, number] }> {
  const worker = new Worker(new URL('../../workers/demo.ts', import.meta.url), { workerData: data })
  worker.unref()
  const report = await new Promise<DemoReport>((resolve) => {
    worker.once('message', (said: DemoReport) => resolve(said))
    worker.once('error', (error: Error) => resolve({ type: 'failed', message: error.message }))
  })
  if (report.type === 'failed') throw new Error(report.message)
  return { worker, originPorts: report.originPorts }
}

export function endDemoThread(worker: Worker): void {
  worker.postMessage({ type: 'stop' } satisfies DemoCommand)
}
