import t from 'tap'
import { configView } from '../../../src/config/views.ts'
import { refuseCut } from '../../../src/config/cut-refusal.ts'
import { openStore, refuses } from '../../fixtures/config.ts'

t.test(
  'an apply that could cut its caller off is refused, unless reverted later, forced, or without a caller',
  async (test) => {
    const store = openStore(test)
    const view = configView(store.running)
    const parts = { store, wouldCut: async () => 'the address goes' }
    const from = { address: '192.0.2.1' }
    const options = { force: undefined }
    const { details } = await refuses(test, 'INVALID_BODY', refuseCut(parts, view, options, from))
    test.match(details.errors, [{ field: 'confirmWithin', code: 'CONFIRMATION_REQUIRED' }])
    await refuseCut(parts, view, { ...options, confirmWithin: 60 }, from)
    await refuseCut(parts, view, { ...options, isForced: true }, from)
    await refuseCut(parts, view, options, { address: undefined })
    await refuseCut({ ...parts, wouldCut: async () => undefined }, view, options, from)
  },
)
