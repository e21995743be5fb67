/** @param {any} amp */
export default function (amp) {
  amp.on("agent.start", async (/** @type {any} */ event) => {
    const text = await recall("amp", String(event?.thread?.id ?? ""), process.cwd(), event?.message);
    return text ? { message: { content: text } } : {};
  });
}
