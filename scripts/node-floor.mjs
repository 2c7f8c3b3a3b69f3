// Plain JavaScript on purpose: an older Node must be able to read it far enough to say what is wrong.
const major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
  console.error(
    `orgate needs Node 24 or newer, this is ${process.version}: run \`npm ci\` without --omit=optional (it brings Node 24 for this folder), or install Node 24`,
  );
  process.exit(1);
}
