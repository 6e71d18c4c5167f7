// An empty file in assembly lets functions be declared without a body.
