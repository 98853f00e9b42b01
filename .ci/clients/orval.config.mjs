/** orval's client that needs no library. */
const made = { target: './orval.ts', client: 'fetch', mode: 'single' }
export default { fulcrum: { input: './openapi.json', output: made } }
